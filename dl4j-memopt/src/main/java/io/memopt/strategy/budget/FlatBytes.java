// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.NetworkAccess;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * What a network holds from one iteration to the next.
 *
 * @param updater state of the updater, which exists from the first update on
 */
record FlatBytes(long parameters, long gradients, long updater) {

    /** Of {@code model}, whether or not its gradients and updater state exist yet. */
    static FlatBytes of(Model model) {
        long parameters = bytes(model.params().length(), model.params());
        long state = 0;
        for (Layer layer : NetworkAccess.layers(model)) {
            state += stateElements(layer);
        }
        return new FlatBytes(parameters, parameters, bytes(state, model.params()));
    }

    long sum() {
        return parameters + gradients + updater;
    }

    private static long stateElements(Layer layer) {
        if (layer instanceof FrozenLayer || !(layer.conf().getLayer() instanceof BaseLayer conf)) {
            return 0;
        }
        long elements = 0;
        for (Map.Entry<String, INDArray> parameter : layer.paramTable().entrySet()) {
            IUpdater updater = conf.getUpdaterByParam(parameter.getKey());
            elements +=
                    updater == null ? 0 : updater.stateSize(parameter.getValue().length());
        }
        return elements;
    }

    private static long bytes(long elements, INDArray like) {
        return elements * like.dataType().width();
    }
}
