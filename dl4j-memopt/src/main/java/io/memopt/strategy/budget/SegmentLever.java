// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.checkpoint.ChainCuts;
import io.memopt.strategy.checkpoint.Segments;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;

/** Checkpointing of a chain of layers, or of a graph in topological order. */
final class SegmentLever implements ActivationLever {
    /** Above that the JVM has little to do with the time of a pass. */
    private static final long LONG_NANOS = 300_000_000L;

    private final int examples;
    private final ChainCuts.Measured measured;
    private final List<Keep> choices = new ArrayList<>(List.of(Keep.ALL));
    private final Keep least;

    /** Measures the layers with the minibatch that {@code model} holds: in a pass, and, if that was short, in another. */
    SegmentLever(Model model, TrainingTracker tracker) {
        ChainCuts.Measured first = measure(model, tracker);
        this.examples = model.batchSize();
        // A short pass of a JVM that has not compiled it yet tells little.
        this.measured = first.plainNanos() < LONG_NANOS ? measure(model, tracker) : first;
        ChainCuts.of(measured.chain()).forEach(cut -> choices.add(new Keep(cut.ends())));
        Segments cut = ChainCuts.least(measured.chain());
        this.least = cut.count() > 1 ? new Keep(cut.ends()) : Keep.ALL;
        if (!choices.contains(least)) {
            choices.add(least);
        }
    }

    private static ChainCuts.Measured measure(Model model, TrainingTracker tracker) {
        ChainCuts.Measured measured = ChainCuts.measure(model, tracker);
        tracker.extraPass(model, ExtraPass.REHEARSED);
        return measured;
    }

    @Override
    public List<Keep> choices() {
        return List.copyOf(choices);
    }

    @Override
    public Keep least() {
        return least;
    }

    @Override
    public long savedBytes(Keep keep, int its) {
        if (keep.isAll()) {
            return 0;
        }
        long saved = measured.chain().bytes() - new Segments(keep.cuts()).bytes(measured.chain());
        return saved * its / examples;
    }

    @Override
    public double extraShare(Keep keep) {
        return keep.isAll() ? 0 : (double) new Segments(keep.cuts()).nanos(measured.chain()) / measured.plainNanos();
    }
}
