// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What decides which arrays a pass of one network asks for: shapes of inputs, labels and masks, and whether listeners may read
 * activations. The first array is part of it for networks that do not say their inputs.
 *
 * @param shapes of all inputs, labels and masks that are known
 * @param workspace and size of the first array
 * @param bytes rounded size of the first array
 * @param keepActivations true when they live to the end of the pass for listeners
 */
record RegionKey(String shapes, String workspace, long bytes, boolean keepActivations) {

    static RegionKey of(Model model, String workspace, long bytes) {
        StringBuilder shapes = new StringBuilder();
        if (model instanceof MultiLayerNetwork network) {
            add(shapes, network.getInput(), network.getLabels(), network.getMaskArray());
            add(shapes, network.getOutputLayer().getMaskArray());
        } else if (model instanceof ComputationGraph graph) {
            add(shapes, graph.getInputs());
            add(shapes, graph.getInputMaskArrays());
            add(shapes, graph.getLabelMaskArrays());
        }
        return new RegionKey(shapes.toString(), workspace, bytes, ActivationReaders.among(model));
    }

    private static void add(StringBuilder shapes, @Nullable INDArray @Nullable ... arrays) {
        if (arrays != null) {
            for (INDArray array : arrays) {
                shapes.append(array == null ? "-" : Arrays.toString(array.shape()));
            }
        }
        shapes.append(';');
    }
}
