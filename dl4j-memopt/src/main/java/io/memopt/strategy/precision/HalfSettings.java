// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import io.memopt.allocator.event.Count;
import io.memopt.strategy.NetworkAccess;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.samediff.AbstractSameDiffLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;

/** Which settings half precision breaks. Threading: stateless. */
public final class HalfSettings {
    /** What is smaller than half of the smallest number of half precision becomes 0. */
    static final double UNDERFLOW = Math.scalb(1.0, -25);

    /** Whole numbers up to it are exact in half precision. */
    static final long EXACT = 2048;

    private HalfSettings() {}

    /** Why gradients of {@code model} cannot be computed in {@link Precision#MIXED_HALF}; empty when they can. */
    public static Optional<String> refusal(Model model) {
        DataType type = model.params().dataType();
        String asked = "precision=MIXED_HALF but the network ";
        if (type != DataType.FLOAT) {
            String why = String.join(" ", notes(model));
            return Optional.of(asked + "has parameters of type " + type
                    + ", expected FLOAT, in which they and the updater's state stay." + (why.isEmpty() ? "" : " " + why)
                    + " Convert it with convertDataType(DataType.FLOAT).");
        }
        for (Layer layer : NetworkAccess.layers(model)) {
            String why = trouble(layer);
            if (!why.isEmpty()) {
                return Optional.of(asked + "has layer " + nameOf(layer) + " " + why);
            }
        }
        if (model instanceof ComputationGraph graph) {
            for (GraphVertex vertex : graph.getVertices()) {
                if (vertex instanceof SameDiffGraphVertex) {
                    return Optional.of(asked + "has vertex " + vertex.getVertexName()
                            + " (SameDiff), whose variables have types of their own");
                }
            }
        }
        return Optional.empty();
    }

    private static String trouble(Layer layer) {
        org.deeplearning4j.nn.conf.layers.Layer conf = layer.conf().getLayer();
        String type = "(" + conf.getClass().getSimpleName() + ")";
        if (conf instanceof AbstractSameDiffLayer) {
            return type + ", whose variables have types of their own";
        }
        if (layer instanceof IOutputLayer && LossFunctions.field(conf).isEmpty()) {
            return type + ", whose loss cannot be scaled: it is no loss function alone";
        }
        boolean embeds = conf instanceof EmbeddingLayer || conf instanceof EmbeddingSequenceLayer;
        long words = embeds ? ((FeedForwardLayer) conf).getNIn() : 0;
        return words > EXACT
                ? type + " with nIn=" + words + ", expected at most " + EXACT
                        + ": larger word numbers are not exact in half precision"
                : "";
    }

    /** One sentence for each updater of a network in half precision whose epsilon is 0 in it. */
    public static List<String> notes(Model model) {
        List<String> notes = new ArrayList<>();
        if (model.params().dataType() != DataType.FLOAT16) {
            return notes;
        }
        for (Layer layer : NetworkAccess.layers(model)) {
            IUpdater updater = layer.conf().getLayer() instanceof BaseLayer base ? base.getIUpdater() : new NoOp();
            double epsilon = epsilon(updater);
            if (epsilon > 0 && epsilon < UNDERFLOW) {
                notes.add("Layer " + nameOf(layer) + " has "
                        + updater.getClass().getSimpleName() + " with epsilon=" + epsilon
                        + ", which is 0 in HALF, so that parameters become NaN wherever a gradient is 0: use at least 1e-4, or a"
                        + " FLOAT network with precision(MIXED_HALF).");
            }
        }
        return notes.size() > 1
                ? List.of(notes.get(0), "The same goes for " + Count.of(notes.size() - 1, "more layer") + ".")
                : notes;
    }

    /** 0 when {@code updater} has none. */
    private static double epsilon(IUpdater updater) {
        try {
            return ((Number) updater.getClass().getMethod("getEpsilon").invoke(updater)).doubleValue();
        } catch (NoSuchMethodException | IllegalAccessException e) {
            return 0;
        } catch (InvocationTargetException e) {
            throw new IllegalStateException("getEpsilon of " + updater.getClass() + " failed", e.getCause());
        }
    }

    private static String nameOf(Layer layer) {
        String name = layer.conf().getLayer().getLayerName();
        return name == null ? String.valueOf(layer.getIndex()) : name;
    }
}
