// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Measures the layers of a chain during its first forward pass. Threading: confined. */
final class ChainMeter {
    private final List<Chain.Cost> costs = new ArrayList<>();

    private final Layer[] layers;

    /** Of a network with {@code layers}. */
    ChainMeter(Layer[] layers) {
        this.layers = layers;
    }

    /** The next layer made {@code output} of {@code given}, which its preprocessor, if any, turned into {@code input}. */
    void add(INDArray given, INDArray input, INDArray output, long nanos) {
        int index = costs.size();
        Layer layer = layers[index];
        long inner = input.data() == given.data() ? 0 : bytes(input);
        INDArray own = layer.input();
        if (own != null && own.data() != input.data() && own.data() != output.data()) {
            inner += 2 * bytes(own); // Dropout copies the input and keeps its mask.
        }
        long made = output.data() == input.data() ? 0 : bytes(output);
        costs.add(new Chain.Cost(
                inner, made, nanos, LayerRules.cuttable(layers, index), LayerRules.reruns(layer), index + 1));
    }

    /** Whether layer {@code index} of the chain is the next to be measured. */
    boolean expects(int index) {
        return index == costs.size();
    }

    Chain chain() {
        return new Chain(costs);
    }

    private static long bytes(INDArray array) {
        return array.length() * array.dataType().width();
    }
}
