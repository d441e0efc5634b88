// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.NormalizationEngine;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;

/**
 * The batch normalisation layers of one network whose running statistics are computed together: puts an {@link
 * EngineBatchNormalization} in the place of each. Layers that differ in decay or epsilon belong to different {@link
 * RunningStatistics}.
 *
 * <p>Holds the network weakly. Threading: confined.
 */
final class JoinedLayers {
    private final WeakReference<Model> model;
    private final NormalizationEngine engine;
    private final Map<Constants, RunningStatistics> groups = new HashMap<>();

    private record Constants(double decay, double epsilon) {}

    JoinedLayers(Model model, NormalizationEngine engine) {
        this.model = new WeakReference<>(model);
        this.engine = engine;
    }

    /** Adds {@code layer}, which comes after those that were added before; does nothing when it keeps its statistics otherwise. */
    void add(BatchNormalization layer, EngineNormalization helper) {
        Model network = model.get();
        if (network == null || !EngineBatchNormalization.standsFor(layer)) {
            return;
        }
        EngineBatchNormalization standIn = new EngineBatchNormalization(layer, helper);
        if (LayerExchange.exchange(network, BatchNormalization.class, layer, standIn)) {
            Constants constants = new Constants(
                    layer.layerConf().getDecay(), layer.layerConf().getEps());
            RunningStatistics group =
                    groups.computeIfAbsent(constants, of -> new RunningStatistics(engine, of.decay(), of.epsilon()));
            int channels = Math.toIntExact(layer.layerConf().getNOut());
            helper.standIn(group.join(channels), () -> exchangeBack(standIn, layer) ? layer : null);
        }
    }

    private boolean exchangeBack(EngineBatchNormalization standIn, BatchNormalization layer) {
        Model network = model.get();
        return network != null && LayerExchange.exchange(network, BatchNormalization.class, standIn, layer);
    }
}
