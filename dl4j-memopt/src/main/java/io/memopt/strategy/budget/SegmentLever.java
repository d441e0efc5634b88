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
    private final ChainCuts.Measured measured;
    private final List<Keep> choices = new ArrayList<>(List.of(Keep.ALL));
    private final Keep least;

    /** Measures the layers with the minibatch that {@code model} holds, in two passes. */
    SegmentLever(Model model, TrainingTracker tracker) {
        ChainCuts.measure(model, tracker); // The first pass is that of a JVM that has not compiled it yet.
        tracker.extraPass(model, ExtraPass.REHEARSED);
        this.measured = ChainCuts.measure(model, tracker);
        tracker.extraPass(model, ExtraPass.REHEARSED);
        ChainCuts.of(measured.chain()).forEach(cut -> choices.add(new Keep(cut.ends())));
        Segments cut = ChainCuts.least(measured.chain());
        this.least = cut.count() > 1 ? new Keep(cut.ends()) : Keep.ALL;
        if (!choices.contains(least)) {
            choices.add(least);
        }
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
    public double extraShare(Keep keep) {
        return keep.isAll() ? 0 : (double) new Segments(keep.cuts()).nanos(measured.chain()) / measured.plainNanos();
    }
}
