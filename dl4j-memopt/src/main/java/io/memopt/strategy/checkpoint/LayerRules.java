// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.strategy.convolution.LeanConvolutions;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.layers.DropoutLayer;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;

/** What the layers of Deeplearning4j do with their input, as their code has it. Threading: stateless. */
final class LayerRules {
    private static final String THEIRS = "org.deeplearning4j.";

    private LayerRules() {}

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
        return !known
                || (layer.getHelper() != null && !LeanConvolutions.compute(layer))
                || isRandom(layer.conf().getLayer());
    }

    /** Whether the output of layer {@code index} of a chain can be kept. */
    static boolean cuttable(Layer[] layers, int index) {
        return leavesInput(layers[index + 1]);
    }

    /**
     * Whether {@code layer} only reads its input. Layers with dropout may write into it, which cannot be computed from twice then;
     * what layers of users' own classes do is not known.
     */
    static boolean leavesInput(Layer layer) {
        Layer inner = layer;
        while (inner instanceof BaseWrapperLayer wrapper) {
            inner = wrapper.getUnderlying();
        }
        return isTheirs(inner)
                && inner.conf().getLayer().getIDropout() == null
                && !(inner instanceof DropoutLayer)
                && !(inner instanceof BidirectionalLayer);
    }

    /** Whether {@code part}, a layer or a vertex, is of Deeplearning4j's own classes. */
    static boolean isTheirs(Object part) {
        return part.getClass().getName().startsWith(THEIRS);
    }

    private static boolean isRandom(org.deeplearning4j.nn.conf.layers.Layer conf) {
        return conf.getIDropout() != null || (conf instanceof BaseLayer base && base.getWeightNoise() != null);
    }
}
