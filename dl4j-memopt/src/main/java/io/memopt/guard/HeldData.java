// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.strategy.NetworkAccess;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;

/** The minibatch that a network holds, as data again; nothing is copied. Masks of a MultiLayerNetwork are left out. */
final class HeldData {
    private HeldData() {}

    /** Empty when the network holds no input or no labels. */
    static Optional<MultiDataSet> of(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            INDArray input = network.getInput();
            INDArray labels = network.getLabels();
            return input == null || labels == null ? Optional.empty() : Optional.of(new MultiDataSet(input, labels));
        }
        ComputationGraph graph = (ComputationGraph) model;
        INDArray[] inputs = graph.getInputs();
        INDArray[] labels = NetworkAccess.labels(graph);
        return isEmpty(inputs) || isEmpty(labels)
                ? Optional.empty()
                : Optional.of(new MultiDataSet(inputs, labels, graph.getInputMaskArrays(), graph.getLabelMaskArrays()));
    }

    /** Rows of the first input; 0 when there is none. */
    static int examples(Model model) {
        INDArray input = model instanceof MultiLayerNetwork network
                ? network.getInput()
                : first(((ComputationGraph) model).getInputs());
        return input == null ? 0 : (int) input.size(0);
    }

    private static boolean isEmpty(INDArray @Nullable [] arrays) {
        return first(arrays) == null;
    }

    private static @Nullable INDArray first(INDArray @Nullable [] arrays) {
        return arrays == null || arrays.length == 0 ? null : arrays[0];
    }
}
