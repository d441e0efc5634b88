// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What MultiLayerNetwork and ComputationGraph have in common and no interface says. */
public final class NetworkAccess {
    private static final ClassValue<Field> LISTENERS = new ClassValue<>() {
        @Override
        protected Field computeValue(Class<?> type) {
            return listenersField(type);
        }
    };

    private static final Field LABELS = labelsField();

    private NetworkAccess() {}

    /**
     * Gives {@code model} a list of its own with the same listeners, so that listeners can be added and removed while one of
     * them is being called: Deeplearning4j goes on through the old list. Layers share the list of their network: listeners hear
     * of unsupervised training from them.
     *
     * @throws IllegalStateException if the list cannot be replaced
     */
    public static void renewListeners(Model model) {
        try {
            Collection<TrainingListener> renewed = new ArrayList<>(listeners(model));
            LISTENERS.get(model.getClass()).set(model, renewed);
            for (Layer layer : layers(model)) {
                layer.setListeners(renewed);
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("listeners of " + model.getClass() + " cannot be replaced", e);
        }
    }

    /** The listeners of {@code model}, not a copy. */
    public static Collection<TrainingListener> listeners(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getListeners()
                : ((ComputationGraph) model).getListeners();
    }

    /** Sets what {@code model.score()} says. */
    public static void score(Model model, double value) {
        if (model instanceof MultiLayerNetwork network) {
            network.setScore(value);
        } else {
            ((ComputationGraph) model).setScore(value);
        }
    }

    /** The network's own array, the same until the network is initialised anew. */
    public static Layer[] layers(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayers()
                : ((ComputationGraph) model).getLayers();
    }

    /** The labels that {@code graph} is about to learn from; null when it has none. */
    public static INDArray @Nullable [] labels(ComputationGraph graph) {
        try {
            return (INDArray[]) LABELS.get(graph);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(LABELS + " cannot be read", e);
        }
    }

    /** Layers of a MultiLayerNetwork, vertices with their layers of a ComputationGraph. */
    static Object[] parts(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayers()
                : ((ComputationGraph) model).getVertices();
    }

    /** Whether a recurrent layer goes on from an earlier segment or time step. */
    static boolean carriesState(Model model) {
        for (Layer layer : layers(model)) {
            if (layer instanceof BaseRecurrentLayer<?> recurrent
                    && !(isEmpty(recurrent.rnnGetTBPTTState()) && isEmpty(recurrent.rnnGetPreviousState()))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isEmpty(@Nullable Map<?, ?> state) {
        return state == null || state.isEmpty();
    }

    /**
     * Computes gradients and score of the minibatch that the network holds, as training does, without a word to listeners.
     *
     * @throws IllegalStateException if the listeners cannot be set aside; nothing was computed then
     */
    public static void computeSilently(Model model) {
        silently(model, () -> compute(model));
    }

    /**
     * Runs {@code work} while {@code model} has no listeners.
     *
     * @throws IllegalStateException if the listeners cannot be set aside; nothing was done then
     */
    public static void silently(Model model, Runnable work) {
        Field field = LISTENERS.get(model.getClass());
        try {
            Object listeners = field.get(model);
            field.set(model, new ArrayList<TrainingListener>());
            try {
                work.run();
            } finally {
                field.set(model, listeners);
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("listeners of " + model.getClass() + " cannot be set aside", e);
        }
    }

    private static void compute(Model model) {
        if (SolverAccess.current(model) instanceof GradientPass own) {
            own.computeGradients();
        } else {
            computePlainly(model);
        }
    }

    /** Sets what {@code model.gradient()} says. */
    public static void gradient(Model model, Gradient gradient) {
        if (model instanceof MultiLayerNetwork network) {
            network.setGradient(gradient);
        } else {
            ((ComputationGraph) model).setGradient(gradient);
        }
    }

    /** Part of the score that is no loss. */
    public static double regularization(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.calcRegularizationScore(true)
                : ((ComputationGraph) model).calcRegularizationScore(true);
    }

    /** Makes the array of all gradients unless there is one, and returns it. */
    public static INDArray flatGradients(Model model) {
        INDArray flat = flatGradientsOrNull(model);
        if (flat != null) {
            return flat;
        }
        if (model instanceof MultiLayerNetwork network) {
            network.initGradientsView();
        } else {
            ((ComputationGraph) model).initGradientsView();
        }
        return Objects.requireNonNull(flatGradientsOrNull(model), "gradients");
    }

    private static @Nullable INDArray flatGradientsOrNull(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getFlattenedGradients()
                : ((ComputationGraph) model).getFlattenedGradients();
    }

    /** Computes gradients and score as Deeplearning4j does. */
    public static void computePlainly(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            network.computeGradientAndScore();
        } else {
            ((ComputationGraph) model).computeGradientAndScore();
        }
    }

    private static Field labelsField() {
        try {
            Field field = ComputationGraph.class.getDeclaredField("labels");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("ComputationGraph has no field labels", e);
        }
    }

    private static Field listenersField(Class<?> type) {
        Class<?> declaring =
                MultiLayerNetwork.class.isAssignableFrom(type) ? MultiLayerNetwork.class : ComputationGraph.class;
        try {
            Field field = declaring.getDeclaredField("trainingListeners");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(declaring + " has no field trainingListeners", e);
        }
    }
}
