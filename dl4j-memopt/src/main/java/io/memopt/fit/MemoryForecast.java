// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How much memory a network will take, known before it is trained. Made by {@code MemOpt.willItFit}.
 *
 * <p>Two ways lead here. <em>Recorded</em>: a copy of the network runs three iterations with each of three tiny batches, and
 * since every array's size is a straight line over the batch, two of them give any batch; the third checks it. <em>Derived</em>:
 * layer shapes and what each type of layer is known to allocate, without a network and without memory; an estimate. Either way
 * the sizes go through a simulation of how ND4J's workspaces learn theirs, first iterations included.
 *
 * <p>Figures are of host memory that ND4J reserves: what the Java heap, ND4J's own libraries and temporaries inside native
 * operations take comes on top. Immutable, thread-safe; a batch takes as long as its simulation, some milliseconds for
 * a thousand arrays.
 */
public final class MemoryForecast {
    /** Batches beyond this are not searched for. */
    private static final int LARGEST_BATCH = 1 << 20;

    /** Where the sizes come from. */
    public enum Method {
        /** From iterations of a copy of the network. */
        RECORDED,
        /** From the configuration alone. */
        DERIVED
    }

    private final Method method;
    private final String certainty;
    private final Passes training;
    private final Optional<Passes> byLayer;
    private final Optional<Passes> inference;
    private final NetworkBytes base;
    private final BatchShape shape;
    private final LayerFacts facts;

    /** @param byLayer training passes with workspaces, if layers are known in these alone */
    MemoryForecast(
            Method method,
            String certainty,
            Passes training,
            Optional<Passes> byLayer,
            Optional<Passes> inference,
            NetworkBytes base,
            BatchShape shape,
            LayerFacts facts) {
        this.method = method;
        this.certainty = certainty;
        this.training = training;
        this.byLayer = byLayer;
        this.inference = inference;
        this.base = base;
        this.shape = shape;
        this.facts = facts;
    }

    /** Where the sizes come from. */
    public Method method() {
        return method;
    }

    /** How far to trust them, in a sentence. */
    public String certainty() {
        return certainty;
    }

    /**
     * What training with batches of {@code batch} items takes.
     *
     * @throws IllegalArgumentException if {@code batch} is below 1
     */
    public Prediction at(int batch) {
        check("batch", batch);
        Simulation.Explained explained = Simulation.explain(training, batch, Alignment.BYTES);
        Composition peak = composition(explained.peak(), batch);
        Composition settled = composition(explained.settled(), batch);
        return new Prediction(
                batch,
                peak,
                settled,
                explained.outcome().passes(),
                explained.outcome().garbageBytes(),
                culprit(settled, batch).withFix(fix(batch, peak.bytes())));
    }

    private Culprit culprit(Composition settled, int batch) {
        CulpritFinder finder = new CulpritFinder(facts);
        if (byLayer.isEmpty()) {
            return finder.find(settled, activations(batch));
        }
        List<Part> parts =
                Simulation.explain(byLayer.get(), batch, Alignment.BYTES).settled();
        Culprit inWorkspaces = finder.find(composition(parts, batch), activations(batch));
        String text = "if workspaces were used, " + inWorkspaces.text();
        return new Culprit(inWorkspaces.layer(), inWorkspaces.bytes(), text, "");
    }

    private String fix(int batch, long peakBytes) {
        if (batch == 1) {
            return "";
        }
        int half = batch / 2;
        long then = peakBytes(half);
        return "Train with batches of " + half + ": the peak will be " + ByteSize.format(then) + ", "
                + ByteSize.scaled(peakBytes - then) + " less.";
    }

    /**
     * The largest batch whose peak stays within {@code budgetBytes}; 0 when not even a batch of one fits. Takes about forty
     * simulations.
     */
    public int largestBatch(long budgetBytes) {
        return LargestBatch.of(LARGEST_BATCH, batch -> peakBytes(batch) <= budgetBytes);
    }

    /**
     * What {@code threads} threads take that call {@code output()} of one shared network with batches of {@code batch} items.
     * Empty when the forecast does not know inference.
     *
     * @throws IllegalArgumentException if a number is below 1
     */
    public Optional<PoolPrediction> inference(int threads, int batch) {
        check("threads", threads);
        check("batch", batch);
        return inference.map(passes -> {
            Simulation.Outcome outcome = Simulation.run(passes, batch, Alignment.BYTES);
            long inputBytes =
                    shape.features().stream().mapToLong(ItemShape::bytes).sum() * batch;
            return new PoolPrediction(
                    threads,
                    batch,
                    base.parameters(),
                    outcome.blockBytes(),
                    outcome.settledBytes() - outcome.blockBytes() + inputBytes,
                    outcome.peakBytes() + inputBytes);
        });
    }

    private long peakBytes(int batch) {
        return Simulation.run(training, batch, Alignment.BYTES).peakBytes()
                + outside(batch).stream().mapToLong(Part::bytes).sum();
    }

    private Composition composition(List<Part> parts, int batch) {
        List<Part> all = new ArrayList<>(outside(batch));
        all.addAll(parts);
        return Composition.of(all);
    }

    private List<Part> outside(int batch) {
        return List.of(
                Part.whole(Category.PARAMETERS, base.parameters()),
                Part.whole(Category.GRADIENTS, base.gradients()),
                Part.whole(Category.UPDATER_STATE, base.updater()),
                Part.whole(Category.INPUT, shape.itemBytes() * batch));
    }

    /** Bytes of the largest activation that each layer makes going forward. */
    private Map<String, Long> activations(int batch) {
        Map<String, Long> bytes = new HashMap<>();
        for (Step step : byLayer.orElse(training).later()) {
            if (step.owner().category() == Category.ACTIVATIONS && step.owner().phase() == Phase.FORWARD) {
                bytes.merge(step.owner().layer(), step.bytes(batch), Math::max);
            }
        }
        return bytes;
    }

    private static void check(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + "=" + value + ", expected at least 1");
        }
    }
}
