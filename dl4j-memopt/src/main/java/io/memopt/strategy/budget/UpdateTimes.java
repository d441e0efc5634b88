// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.NetworkAccess;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.BiConsumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How long an update of a network's parameters takes: its updaters, with states of their own, and its penalties on weights are applied
 * to a share of the elements that each of them has. Gradients are written over, parameters and the network's updater state are not touched.
 *
 * <p>Threading: the training thread.
 */
final class UpdateTimes {
    private static final Logger log = LoggerFactory.getLogger(UpdateTimes.class);

    /** Of the elements, one in so many is timed, so that this takes less memory than passes do; the rest goes in proportion. */
    private static final int SHARE = 16;

    /** Parts are timed until they took so long together: 0.3 seconds. */
    private static final long TIMING_NANOS = 300_000_000L;

    /** Arrays that penalties make. */
    static final String WORKSPACE = "MEMOPT_UPDATE_TIMES";

    private UpdateTimes() {}

    /** What is done with some of the parameters. */
    private record Kind(IUpdater updater, List<Regularization> penalties) {}

    /** Nanoseconds of one update; empty when an updater of the user's does not work on a part of the parameters. */
    static OptionalDouble of(Model model, INDArray gradients) {
        INDArray flat = gradients.reshape(1, gradients.length());
        double nanos = 0;
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (Map.Entry<Kind, Long> each : elements(model).entrySet()) {
                long some = Math.max(1, each.getValue() / SHARE);
                nanos += typical(each.getKey(), parts(flat, some)) * each.getValue() / some;
            }
        } catch (RuntimeException e) {
            log.debug("Updates of {} cannot be timed.", model.getClass(), e);
            return OptionalDouble.empty();
        }
        return OptionalDouble.of(nanos);
    }

    /** Different ones, since how long an updater takes depends on the numbers that it finds, and it writes over them. */
    private static List<INDArray> parts(INDArray flat, long length) {
        List<INDArray> parts = new ArrayList<>();
        for (long from = 0; parts.size() < SHARE && from + length <= flat.length(); from += length) {
            parts.add(flat.get(NDArrayIndex.all(), NDArrayIndex.interval(from, from + length)));
        }
        return parts;
    }

    private static Map<Kind, Long> elements(Model model) {
        Map<Kind, Long> elements = new LinkedHashMap<>();
        for (Layer layer : NetworkAccess.layers(model)) {
            if (layer instanceof FrozenLayer || !(layer.conf().getLayer() instanceof BaseLayer conf)) {
                continue;
            }
            layer.paramTable().forEach((name, parameter) -> {
                IUpdater updater = conf.getUpdaterByParam(name);
                if (updater != null) {
                    Kind kind = new Kind(updater, penalties(conf, name));
                    elements.merge(kind, parameter.length(), Long::sum);
                }
            });
        }
        return elements;
    }

    private static List<Regularization> penalties(BaseLayer conf, String parameter) {
        List<Regularization> penalties = conf.getRegularizationByParam(parameter);
        return penalties == null ? List.of() : penalties;
    }

    private static double typical(Kind kind, List<INDArray> gradients) {
        if (kind.penalties.stream().allMatch(UpdateTimes::isInPlace)) {
            return typical(kind, gradients, (parameters, gradient) -> penalise(kind, parameters, gradient));
        }
        MemoryWorkspace workspace = workspace(gradients.get(0));
        try {
            return typical(
                    kind, gradients, (parameters, gradient) -> penaliseIn(workspace, kind, parameters, gradient));
        } finally {
            Nd4j.getWorkspaceManager().destroyWorkspace(workspace);
        }
    }

    private static boolean isInPlace(Regularization penalty) {
        return penalty instanceof L2Regularization || penalty instanceof WeightDecay;
    }

    /** Median of as many of {@code gradients} as there is time for, of the same length; {@code penalties} are applied to parameters. */
    private static double typical(Kind kind, List<INDArray> gradients, BiConsumer<INDArray, INDArray> penalties) {
        INDArray first = gradients.get(0);
        long length = kind.updater.stateSize(first.length());
        try (INDArray parameters = Nd4j.zeros(first.dataType(), first.shape());
                INDArray state = Nd4j.zeros(first.dataType(), 1, Math.max(1, length))) {
            GradientUpdater<?> updater = instantiate(kind.updater, length == 0 ? null : state);
            List<Long> nanos = new ArrayList<>();
            long all = System.nanoTime();
            for (INDArray gradient : gradients) {
                long begun = System.nanoTime();
                gradient.divi(1);
                penalties.accept(parameters, gradient);
                updater.applyUpdater(gradient, 0, 0);
                parameters.subi(gradient);
                Nd4j.getExecutioner().commit();
                nanos.add(System.nanoTime() - begun);
                if (System.nanoTime() - all > TIMING_NANOS) {
                    break;
                }
            }
            nanos.sort(null);
            return nanos.get(nanos.size() / 2);
        }
    }

    private static void penalise(Kind kind, INDArray parameters, INDArray gradient) {
        kind.penalties.forEach(penalty -> penalty.apply(parameters, gradient, 1, 0, 0));
    }

    /** The same in a workspace, as training has it: these penalties make arrays. */
    private static void penaliseIn(MemoryWorkspace workspace, Kind kind, INDArray parameters, INDArray gradient) {
        try (MemoryWorkspace scope = workspace.notifyScopeEntered()) {
            penalise(kind, parameters, gradient);
        }
    }

    private static MemoryWorkspace workspace(INDArray gradient) {
        long bytes = gradient.length() * gradient.dataType().width();
        return Nd4j.getWorkspaceManager()
                .createNewWorkspace(
                        WorkspaceConfiguration.builder()
                                .initialSize(bytes)
                                .policyLearning(LearningPolicy.NONE)
                                .build(),
                        WORKSPACE);
    }

    @SuppressWarnings("NullAway") // Updaters without a state are given none.
    private static GradientUpdater<?> instantiate(IUpdater kind, @Nullable INDArray state) {
        return kind.instantiate(state, state != null);
    }
}
