// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.checkpoint.ChainCuts;
import io.memopt.strategy.checkpoint.CheckpointedPass;
import io.memopt.strategy.checkpoint.Segments;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;

/** Checkpointing of a chain of layers, or of a graph in topological order. */
final class SegmentLever implements ActivationLever {
    private final Model model;
    private final TrainingTracker tracker;
    private final ChainCuts.Measured measured;
    private final List<Keep> choices = new ArrayList<>(List.of(Keep.ALL));
    private final Keep least;
    private final Map<Keep, CheckpointedPass> passes = new HashMap<>();

    /** Measures the layers with the minibatch that {@code model} holds, in two passes. */
    SegmentLever(Model model, TrainingTracker tracker) {
        this.model = model;
        this.tracker = tracker;
        measure(model, tracker); // The first pass is that of a JVM that has not compiled it yet.
        this.measured = measure(model, tracker);
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
    public void pass(Keep keep) {
        if (keep.isAll()) {
            NetworkAccess.computePlainly(model);
        } else {
            passes.computeIfAbsent(keep, its -> new CheckpointedPass(model, new Segments(its.cuts()), tracker))
                    .compute();
        }
    }

    @Override
    public double extraShare(Keep keep) {
        return keep.isAll() ? 0 : (double) new Segments(keep.cuts()).nanos(measured.chain()) / measured.plainNanos();
    }
}
