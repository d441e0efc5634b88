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

    private static long elements(Trainable part, String name, INDArray parameter) {
        IUpdater updater = part.getConfig().getUpdaterByParam(name);
        return updater == null ? 0 : updater.stateSize(parameter.length());
    }

    private static List<? extends Trainable> parts(Model model) {
        return model instanceof MultiLayerNetwork network
                ? Arrays.asList(network.getLayers())
                : Arrays.asList(((ComputationGraph) model).getVertices());
    }
}
