// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** What layers are, for sentences about them. */
final class LayerFacts {
    private final Map<String, org.deeplearning4j.nn.conf.layers.Layer> byName = new HashMap<>();

    private LayerFacts() {}

    static LayerFacts of(Model model) {
        LayerFacts facts = new LayerFacts();
        Layer[] layers = model instanceof MultiLayerNetwork network
                ? network.getLayers()
                : ((ComputationGraph) model).getLayers();
        for (Layer layer : layers) {
            if (layer.conf() != null && layer.conf().getLayer() != null) {
                facts.add(layer.conf().getLayer());
            }
        }
        return facts;
    }

    static LayerFacts of(List<? extends org.deeplearning4j.nn.conf.layers.Layer> layers) {
        LayerFacts facts = new LayerFacts();
        layers.forEach(facts::add);
        return facts;
    }

    private void add(org.deeplearning4j.nn.conf.layers.Layer layer) {
        if (layer.getLayerName() != null) {
            byName.put(layer.getLayerName(), layer);
        }
    }

    /** Name, type and, for a convolution, kernel and channels. */
    String describe(String name) {
        org.deeplearning4j.nn.conf.layers.Layer layer = byName.get(name);
        if (layer == null) {
            return name;
        }
        String type = layer.getClass().getSimpleName();
        if (layer instanceof ConvolutionLayer convolution) {
            int[] kernel = convolution.getKernelSize();
            String sides = String.join(
                    "x", Arrays.stream(kernel).mapToObj(Integer::toString).toList());
            return name + " (" + type + " " + sides + ", " + convolution.getNIn() + " to " + convolution.getNOut()
                    + " channels)";
        }
        return name + " (" + type + ")";
    }

    /**
     * How many times larger than the output of the layer its unfolded input is (im2col: one column of channels times kernel for
     * each output pixel); 0 when it does not unfold.
     */
    double unfoldFactor(String name) {
        if (byName.get(name) instanceof ConvolutionLayer convolution && LayerRules.unfolds(convolution)) {
            int taps = Arrays.stream(convolution.getKernelSize()).reduce(1, Math::multiplyExact);
            return (double) convolution.getNIn() * taps / convolution.getNOut();
        }
        return 0;
    }
}
