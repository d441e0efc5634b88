// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;

/** Sizes of parameters, their gradients and the state of their updaters. */
final class ParameterSizes {
    private ParameterSizes() {}

    /** @param width bytes of an element */
    static NetworkBytes of(List<NeuralNetConfiguration> layers, int width) {
        long parameters = 0;
        long state = 0;
        for (NeuralNetConfiguration configuration : layers) {
            Layer layer = configuration.getLayer();
            long count = layer.initializer().numParams(configuration);
            parameters += count;
            if (layer instanceof BaseLayer base && base.getIUpdater() != null) {
                // Running means and variances, half of the parameters of a batch normalisation, have no updater state.
                long updated = layer instanceof BatchNormalization ? count / 2 : count;
                state += base.getIUpdater().stateSize(updated);
            }
        }
        return new NetworkBytes(parameters * width, parameters * width, state * width);
    }
}
