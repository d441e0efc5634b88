// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.layers.DropoutLayer;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
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
        Layer layer = layers[costs.size()];
        long inner = input.data() == given.data() ? 0 : bytes(input);
        INDArray own = layer.input();
        if (own != null && own.data() != input.data() && own.data() != output.data()) {
            inner += 2 * bytes(own); // Dropout copies the input and keeps its mask.
        }
        long made = output.data() == input.data() ? 0 : bytes(output);
        costs.add(new Chain.Cost(inner, made, nanos, cuttable(layers, costs.size()), reruns(layer)));
    }

    /** Whether layer {@code index} of the chain is the next to be measured. */
    boolean expects(int index) {
        return index == costs.size();
    }

    Chain chain() {
        return new Chain(costs);
    }

    /**
     * Whether a layer's backward pass needs more of its forward pass than its input. Those of Deeplearning4j named here compute what
     * else they need anew from it.
     */
    static boolean reruns(Layer layer) {
        Class<?> type = layer.getClass();
        boolean known = type == ConvolutionLayer.class
                || type == SubsamplingLayer.class
                || type == ActivationLayer.class
                || type == DenseLayer.class;
        return !known || layer.getHelper() != null || isRandom(layer.conf().getLayer());
    }

    /**
     * Whether the output of layer {@code index} can be kept. Layers with dropout may write into their input, which cannot be computed
     * from twice then; what layers of users' own classes do is not known.
     */
    static boolean cuttable(Layer[] layers, int index) {
        Layer next = layers[index + 1];
        while (next instanceof BaseWrapperLayer wrapper) {
            next = wrapper.getUnderlying();
        }
        return next.getClass().getName().startsWith("org.deeplearning4j.")
                && next.conf().getLayer().getIDropout() == null
                && !(next instanceof DropoutLayer)
                && !(next instanceof BidirectionalLayer);
    }

    private static boolean isRandom(org.deeplearning4j.nn.conf.layers.Layer conf) {
        return conf.getIDropout() != null || (conf instanceof BaseLayer base && base.getWeightNoise() != null);
    }

    private static long bytes(INDArray array) {
        return array.length() * array.dataType().width();
    }
}
