// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;

/** What the updater of a network will remember, told by its configuration before there is an updater. Threading: stateless. */
public final class UpdaterState {
    private UpdaterState() {}

    /** Elements of the state that Deeplearning4j makes for {@code model}; 0 for updaters without one, and frozen layers. */
    public static long elements(Model model) {
        long elements = 0;
        for (Trainable part : parts(model)) {
            Map<String, INDArray> parameters = part.paramTable(false);
            if (parameters != null) {
                for (Map.Entry<String, INDArray> parameter : parameters.entrySet()) {
                    elements += elements(part, parameter.getKey(), parameter.getValue());
                }
            }
        }
        return elements;
    }

    /** Bytes of the state that {@code model} has now. */
    public static long bytes(Model model) {
        Object updater = model instanceof MultiLayerNetwork network
                ? network.getUpdater(false)
                : ((ComputationGraph) model).getUpdater(false);
        INDArray state = updater instanceof BaseMultiLayerUpdater<?> its ? its.getStateViewArray() : null;
        return state == null ? 0 : state.length() * state.dataType().width();
    }

    private static long elements(Trainable part, String name, INDArray parameter) {
        IUpdater updater = part.getConfig().getUpdaterByParam(name);
        return updater == null ? 0 : updater.stateSize(parameter.length());
    }

    /** Layers, or vertices with theirs, in the order of their parameters. */
    public static List<? extends Trainable> parts(Model model) {
        return model instanceof MultiLayerNetwork network
                ? Arrays.asList(network.getLayers())
                : Arrays.asList(((ComputationGraph) model).getVertices());
    }
}
