// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.AlgorithmTable;
import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngineException;
import io.memopt.allocator.cudnn.LayerEngines;
import io.memopt.allocator.cudnn.ScratchBudget;
import io.memopt.allocator.cudnn.ScratchHooks;
import io.memopt.strategy.HelperField;
import io.memopt.strategy.NetworkAccess;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts helpers into the convolution and batch normalisation layers of networks, which Deeplearning4j then asks first, and takes
 * them out again. Left to the built-in path are subclasses of these layers (one-dimensional, depthwise, separable, transposed:
 * Deeplearning4j asks no helper there), layers with weight noise (Deeplearning4j would keep the noise of the first pass), and
 * batch normalisations with one of a locked gamma and beta at its default (the built-in path then ignores both).
 *
 * <p>Helpers go with the layers: a network that is initialised anew has none until it is attached again; copies that {@code
 * ParallelWrapper} trains have none. Networks are held weakly. Threading: safe; a network is not to be trained while helpers are
 * put in or taken out by another thread.
 */
public final class CudnnLayers implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CudnnLayers.class);
    private static final HelperField CONVOLUTION = new HelperField(ConvolutionLayer.class, "helper");
    private static final HelperField NORMALIZATION = new HelperField(BatchNormalization.class, "helper");
    private static final HelperField X_HAT = new HelperField(BatchNormalization.class, "xHat");
    private static final HelperField X_MU = new HelperField(BatchNormalization.class, "xMu");

    /** Deeplearning4j makes a bias and a gradient of it for helpers of layers that have none. */
    private static final int DUMMIES = 2;

    private final LayerEngine engine;
    private final Convolutions settings;
    private final AlgorithmFile cache;
    private final Refusals refusals = new Refusals();
    private final List<Helpers> networks = new ArrayList<>();
    private long scratchLimit = NetworkScratch.UNLIMITED;
    private long scratchAloneLimit = NetworkScratch.UNLIMITED;

    /** What was put into one network; holds neither it nor its layers. */
    private record Helpers(
            WeakReference<Model> model,
            WeakReference<Layer[]> layers,
            NetworkScratch scratch,
            List<EngineConvolution> convolutions,
            List<Runnable> removals) {}

    private CudnnLayers(LayerEngine engine, Convolutions settings, AlgorithmFile cache) {
        this.engine = engine;
        this.settings = settings;
        this.cache = cache;
    }

    /**
     * Opens the library; no network is touched.
     *
     * @param hooks where scratch memory may lie, and who hears of it
     * @throws LayerEngineException if the library is not there; the message says what is missing
     */
    public static CudnnLayers begin(Convolutions settings, ScratchHooks hooks) {
        AlgorithmFile cache = settings.cache().map(AlgorithmFile::open).orElseGet(AlgorithmFile::inMemory);
        return new CudnnLayers(LayerEngines.openCudnn(settings.options(), cache, hooks), settings, cache);
    }

    static CudnnLayers on(LayerEngine engine, Convolutions settings) {
        return new CudnnLayers(engine, settings, AlgorithmFile.inMemory());
    }

    /** The settings of all networks: those it was begun with. */
    public Convolutions settings() {
        return settings;
    }

    /**
     * Puts helpers into the layers of {@code model}; does nothing when they are there.
     *
     * @param model an initialised network
     */
    public synchronized void attach(Model model) {
        if (networks.removeIf(other -> other.model().refersTo(null))) {
            limitScratch();
        }
        Layer[] layers = NetworkAccess.layers(model);
        Helpers known = find(model);
        if (known != null && known.layers().refersTo(layers)) {
            return;
        }
        NetworkScratch scratch = new NetworkScratch(engine, settings, this::limitScratch);
        if (known != null) {
            networks.remove(known);
            scratch.after(known.scratch());
        }
        Helpers helpers = new Helpers(
                new WeakReference<>(model), new WeakReference<>(layers), scratch, new ArrayList<>(), new ArrayList<>());
        for (int i = 0; i < layers.length; i++) {
            Layer layer = unwrapped(layers[i]);
            if (layer.getClass() == ConvolutionLayer.class) {
                boolean reuse =
                        settings.reuseForward() && layer == layers[i] && ForwardReuseRule.allows(model, layer, i);
                addConvolution((ConvolutionLayer) layer, nameOf(layer, i), reuse, helpers);
            } else if (layer.getClass() == BatchNormalization.class && settings.normalization()) {
                BatchNormalization normalization = (BatchNormalization) layer;
                addNormalization(normalization, nameOf(layer, i), helpers);
                helpers.scratch().keeps(keptBytes(normalization));
            }
        }
        if (settings.joinStatistics()) {
            joinStatistics(model);
        }
        networks.add(helpers);
        log.info(
                "{}: {} layers of {} are computed by it",
                engine.description(),
                helpers.removals().size(),
                model.getClass().getSimpleName());
    }

    /** Takes the helpers out of {@code model}, which computes as before; does nothing when there are none. */
    public synchronized void detach(Model model) {
        Helpers helpers = find(model);
        if (helpers != null) {
            networks.remove(helpers);
            helpers.removals().forEach(Runnable::run);
            limitScratch();
            cache.save();
        }
    }

    /** The scratch memory of the convolutions of {@code model}; empty when it has no helpers. */
    public synchronized Optional<NetworkScratch> scratch(Model model) {
        Helpers helpers = find(model);
        return helpers == null ? Optional.empty() : Optional.of(helpers.scratch());
    }

    /** The engine keeps to the least of all networks' limits. */
    private synchronized void limitScratch() {
        long least = least(NetworkScratch::limitBytes);
        long leastAlone = least(NetworkScratch::aloneLimitBytes);
        if (least != scratchLimit || leastAlone != scratchAloneLimit) {
            scratchLimit = least;
            scratchAloneLimit = leastAlone;
            engine.limitScratch(least, leastAlone);
        }
    }

    private long least(ToLongFunction<NetworkScratch> limit) {
        return networks.stream()
                .mapToLong(its -> limit.applyAsLong(its.scratch()))
                .min()
                .orElse(NetworkScratch.UNLIMITED);
    }

    private @Nullable Helpers find(Model model) {
        for (Helpers helpers : networks) {
            if (helpers.model().refersTo(model)) {
                return helpers;
            }
        }
        return null;
    }

    /** What is computed how in {@code model}; empty when it has no helpers. */
    public synchronized Optional<ConvolutionReport> report(Model model) {
        Helpers helpers = find(model);
        if (helpers == null) {
            return Optional.empty();
        }
        List<ConvolutionRow> rows = new ArrayList<>();
        List<AlgorithmTable> passes = new ArrayList<>();
        for (EngineConvolution convolution : helpers.convolutions()) {
            convolution.lastShape().ifPresent(shape -> addRows(convolution.layer(), shape, rows, passes));
        }
        boolean measured = passes.stream().allMatch(AlgorithmTable::measured);
        return Optional.of(new ConvolutionReport(
                engine.description(),
                engine.scratchBytes(),
                rows,
                measured ? ScratchBudget.front(passes) : List.of(),
                refusals.all()));
    }

    private void addRows(String layer, ConvolutionShape shape, List<ConvolutionRow> rows, List<AlgorithmTable> passes) {
        for (ConvolutionPass pass : ConvolutionPass.values()) {
            engine.chosen(shape, pass).ifPresent(way -> {
                rows.add(new ConvolutionRow(
                        layer,
                        shape.key(),
                        pass,
                        pass.nameOf(way.id()),
                        way.math(),
                        way.parts(),
                        way.scratchBytes(),
                        way.nanos()));
                engine.table(shape, pass).ifPresent(passes::add);
            });
        }
    }

    /** Takes all helpers out, keeps what was measured, and gives the library's memory back. */
    @Override
    public synchronized void close() {
        for (Helpers helpers : networks) {
            helpers.removals().forEach(Runnable::run);
        }
        networks.clear();
        cache.save();
        engine.close();
    }

    private long keptBytes(BatchNormalization layer) {
        int arrays = settings.joinStatistics() ? RunningStatistics.ARRAYS : EngineNormalization.ARRAYS;
        return layer.layerConf().getNOut() * Float.BYTES * arrays;
    }

    private void addConvolution(ConvolutionLayer layer, String name, boolean reuse, Helpers helpers) {
        org.deeplearning4j.nn.conf.layers.ConvolutionLayer configuration =
                (org.deeplearning4j.nn.conf.layers.ConvolutionLayer)
                        layer.conf().getLayer();
        if (configuration.getWeightNoise() != null) {
            refusals.say(name, "it has weight noise, which Deeplearning4j would draw only once for a helper.");
            return;
        }
        EngineConvolution helper =
                new EngineConvolution(engine, helpers.scratch(), name, configuration.hasBias(), reuse, refusals);
        Object before = CONVOLUTION.get(layer);
        CONVOLUTION.set(layer, helper);
        helpers.convolutions().add(helper);
        if (!configuration.hasBias()) {
            helpers.scratch().keeps(configuration.getNOut() * Float.BYTES * DUMMIES);
        }
        WeakReference<ConvolutionLayer> reference = new WeakReference<>(layer);
        helpers.removals().add(() -> {
            ConvolutionLayer known = reference.get();
            if (known != null) {
                CONVOLUTION.exchange(known, helper, before);
            }
        });
    }

    private void addNormalization(BatchNormalization layer, String name, Helpers helpers) {
        org.deeplearning4j.nn.conf.layers.BatchNormalization configuration =
                (org.deeplearning4j.nn.conf.layers.BatchNormalization)
                        layer.conf().getLayer();
        boolean scales = configuration.getGamma() != 1.0;
        boolean shifts = configuration.getBeta() != 0.0;
        if (configuration.isLockGammaBeta() && scales != shifts) {
            refusals.say(
                    name,
                    "gamma=" + configuration.getGamma() + " and beta=" + configuration.getBeta()
                            + " are locked, and the built-in path ignores both when one is at its default.");
            return;
        }
        EngineNormalization helper = new EngineNormalization(engine, name, refusals, () -> {
            X_HAT.set(layer, null);
            X_MU.set(layer, null);
        });
        Object before = NORMALIZATION.get(layer);
        NORMALIZATION.set(layer, helper);
        WeakReference<BatchNormalization> reference = new WeakReference<>(layer);
        helpers.removals().add(() -> {
            BatchNormalization known = reference.get();
            if (known != null && NORMALIZATION.get(known) instanceof EngineNormalization ours) {
                ours.retire(() -> NORMALIZATION.exchange(known, ours, before));
            }
        });
    }

    /** Layers whose backward pass may not come after their forward pass keep their running statistics to themselves. */
    private void joinStatistics(Model model) {
        if (!LayerExchange.isTrainedThroughout(model)) {
            return;
        }
        JoinedLayers joined = new JoinedLayers(model, engine);
        for (Layer layer : LayerExchange.inOrder(model)) {
            if (layer.getClass() == BatchNormalization.class
                    && NORMALIZATION.get(layer) instanceof EngineNormalization ours) {
                joined.add((BatchNormalization) layer, ours);
            }
        }
    }

    private static Layer unwrapped(Layer layer) {
        Layer inner = layer;
        while (inner instanceof BaseWrapperLayer wrapper) {
            inner = wrapper.getUnderlying();
        }
        return inner;
    }

    private static String nameOf(Layer layer, int position) {
        String name = layer.conf().getLayer().getLayerName();
        return name == null ? "layer" + position : name;
    }
}
