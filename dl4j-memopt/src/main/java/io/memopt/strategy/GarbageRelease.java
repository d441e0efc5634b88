// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.nd4j.ReversedInputs;
import io.memopt.listeners.training.TrainingTracker;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees detached arrays that Deeplearning4j's layers leave to the Java garbage collector, as soon as they are dead. The
 * collector sees small Java objects and not the off-heap bytes behind them, so that such arrays pile up until the heap fills.
 *
 * <p>Only arrays whose death is certain are freed, and these are the two of each batch normalisation; see {@link
 * NormalizationResidue} for why. In training they go with the backward pass that used them last. After inference a pass's
 * arrays stay until the next pass has replaced them, for the layer may still be asked for a backward pass. What a bidirectional layer
 * makes of a minibatch is not left to the collector at all, see {@link ReversedInputs}. Not freed:
 *
 * <ul>
 *   <li>results of {@code output()} and {@code feedForward()}: the caller may hold them, and nothing tells when it no longer
 *       does. Use {@code output(x, false, workspace)} or close them.
 *   <li>the state of recurrent layers, which {@code rnnGetPreviousState()} hands out; it is small.
 *   <li>outputs of a multiplying bidirectional layer, which inner layers may cache.
 *   <li>layers of user classes.
 *   <li>after inference without workspaces, which has no visible begin or end: until the next training pass.
 * </ul>
 *
 * <p>Exactness {@code BITWISE}: freeing changes no number. Cost: two reads of a field for each batch normalisation whenever a
 * phase ends. Networks are held weakly. Threading: safe.
 */
public final class GarbageRelease implements TrainingObserver, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(GarbageRelease.class);

    private final TrainingTracker tracker;
    private final List<Network> networks = new CopyOnWriteArrayList<>();
    private final LongAdder releasedBytes = new LongAdder();
    private final ReversedInputs reversed;
    private boolean closed;
    private volatile boolean failed;

    private GarbageRelease(TrainingTracker tracker) {
        this.tracker = tracker;
        this.reversed = tracker.recording().reversedInputs();
    }

    /** Begins for all networks that {@code tracker} observes. */
    public static GarbageRelease begin(TrainingTracker tracker) {
        GarbageRelease release = new GarbageRelease(tracker);
        tracker.addObserver(release);
        release.reversed.begin();
        return release;
    }

    /** Nothing more is freed; what is dead by then is the collector's. */
    @Override
    public synchronized void close() {
        tracker.removeObserver(this);
        if (!closed) {
            closed = true;
            reversed.end();
        }
        networks.clear();
    }

    /** Bytes freed so far; never decreases. */
    public long releasedBytes() {
        return releasedBytes.sum();
    }

    @Override
    public void phaseEnded(String network, Phase phase, long nanos) {
        sweep();
    }

    @Override
    public void trialPhaseEnded(String network, Phase phase, long nanos) {
        sweep();
    }

    private void sweep() {
        Model model = tracker.currentModel();
        if (model == null || failed) {
            return;
        }
        try {
            Network swept = of(model, NetworkAccess.layers(model));
            swept.residues.forEach(residue -> releasedBytes.add(residue.sweep()));
        } catch (RuntimeException e) {
            failed = true;
            log.warn("Arrays of batch normalisation wait for the Java garbage collector from now on.", e);
        }
    }

    /** One for each network, so that no array is held twice. */
    private synchronized Network of(Model model, Layer[] layers) {
        Network known = find(model);
        if (known != null && known.layers.refersTo(layers)) {
            return known;
        }
        networks.removeIf(other -> other == known || other.model.refersTo(null));
        Network fresh = new Network(model, layers);
        networks.add(fresh);
        return fresh;
    }

    private @Nullable Network find(Model model) {
        for (Network network : networks) {
            if (network.model.refersTo(model)) {
                return network;
            }
        }
        return null;
    }

    /** A network as it was when its layers were looked through. */
    private static final class Network {
        private final WeakReference<Model> model;
        private final WeakReference<Layer[]> layers;
        private final List<NormalizationResidue> residues;

        private Network(Model model, Layer[] layers) {
            this.model = new WeakReference<>(model);
            this.layers = new WeakReference<>(layers);
            this.residues = NormalizationResidue.of(layers);
        }
    }
}
