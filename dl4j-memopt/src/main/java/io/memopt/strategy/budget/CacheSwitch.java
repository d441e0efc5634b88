// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.HelperField;
import io.memopt.strategy.NetworkAccess;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.recurrent.GravesLSTM;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;

/**
 * Switches the {@code CacheMode} of a network off, in its configuration and in each of its layers, and back to what it was. Exactness
 * {@code BITWISE}: what is not cached is computed again from the same inputs. Layers are held weakly. Threading: between passes.
 */
final class CacheSwitch {
    private static final HelperField MODE = new HelperField(AbstractLayer.class, "cacheMode");

    /** What layers keep for their backward pass; with the mode off they would take it for that of the pass. */
    @SuppressWarnings("deprecation") // networks of earlier versions have GravesLSTM
    private static final Map<Class<?>, HelperField> CACHED = Map.of(
            AbstractLayer.class, new HelperField(AbstractLayer.class, "preOutput"),
            ConvolutionLayer.class, new HelperField(ConvolutionLayer.class, "i2d"),
            LSTM.class, new HelperField(LSTM.class, "cachedFwdPass"),
            GravesLSTM.class, new HelperField(GravesLSTM.class, "cachedFwdPass"));

    private final List<Switched> switched = new ArrayList<>();
    private WeakReference<Model> network = new WeakReference<>(null);
    private CacheMode before = CacheMode.NONE;

    /** Modes of one layer and of its configuration. */
    private record Switched(
            WeakReference<Layer> layer,
            CacheMode mode,
            @Nullable CacheMode configured) {}

    /** Whether {@code model} or one of its layers has a cache mode. */
    static boolean isOn(Model model) {
        if (configured(model) != CacheMode.NONE) {
            return true;
        }
        for (Layer layer : NetworkAccess.layers(model)) {
            if (mode(layer, CacheMode.NONE) != CacheMode.NONE) {
                return true;
            }
        }
        return false;
    }

    /** Switches off, and has layers forget what they cached. */
    void off(Model model) {
        if (!network.refersTo(model)) {
            remember(model);
        }
        for (Layer layer : NetworkAccess.layers(model)) {
            layer.setCacheMode(CacheMode.NONE);
            layer.conf().setCacheMode(CacheMode.NONE);
            forget(layer);
        }
        configure(model, CacheMode.NONE);
    }

    private void remember(Model model) {
        network = new WeakReference<>(model);
        before = configured(model);
        for (Layer layer : NetworkAccess.layers(model)) {
            CacheMode configured = layer.conf().getCacheMode();
            switched.add(new Switched(new WeakReference<>(layer), mode(layer, before), configured));
        }
    }

    private static void forget(Layer layer) {
        CACHED.forEach((type, field) -> {
            if (type.isInstance(layer)) {
                field.set(layer, null);
            }
        });
    }

    /** Whether {@link #off} was called, and {@link #back} was not. */
    boolean isOff() {
        return !switched.isEmpty();
    }

    /** Switches to what it was; does nothing when nothing was switched off. */
    void back() {
        Model model = network.get();
        for (Switched each : switched) {
            Layer layer = each.layer.get();
            if (layer != null) {
                layer.setCacheMode(each.mode);
                layer.conf().setCacheMode(each.configured);
            }
        }
        if (model != null) {
            configure(model, before);
        }
        switched.clear();
        network = new WeakReference<>(null);
    }

    private static CacheMode mode(Layer layer, CacheMode otherwise) {
        CacheMode mode = layer instanceof AbstractLayer ? (CacheMode) MODE.get(layer) : otherwise;
        return mode == null ? CacheMode.NONE : mode;
    }

    private static CacheMode configured(Model model) {
        CacheMode mode = model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getCacheMode()
                : ((ComputationGraph) model).getConfiguration().getCacheMode();
        return mode == null ? CacheMode.NONE : mode;
    }

    private static void configure(Model model, CacheMode mode) {
        if (model instanceof MultiLayerNetwork network) {
            network.getLayerWiseConfigurations().setCacheMode(mode);
        } else {
            ((ComputationGraph) model).getConfiguration().setCacheMode(mode);
        }
    }
}
