// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.checkpoint.Chain;
import io.memopt.strategy.checkpoint.ChainCuts;
import io.memopt.strategy.checkpoint.KeptIn;
import io.memopt.strategy.checkpoint.Segments;
import io.memopt.strategy.offload.Offload;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/** Checkpointing of a chain of layers, or of a graph in topological order. */
final class SegmentLever implements ActivationLever {
    /** Above that the JVM has little to do with the time of a pass. */
    private static final long LONG_NANOS = 300_000_000L;
    /** Short passes that are measured, of which the shortest counts. */
    private static final int MEASURED = 3;

    private final int examples;
    private final ChainCuts.Measured measured;
    private final Optional<Offload> where;
    private final Cuts here;
    private @Nullable Cuts offloaded;

    /** Ways to cut, and the one that keeps least. */
    private record Cuts(List<Keep> choices, Keep least) {}

    /**
     * Measures the layers with the minibatch that {@code model} holds: in a pass, and, if that was short, in others.
     *
     * @param where kept outputs may lie other than in memory
     */
    SegmentLever(Model model, TrainingTracker tracker, Optional<Offload> where) {
        this.examples = model.batchSize();
        this.measured = shortest(model, tracker);
        this.where = where;
        this.here = cuts(measured.chain(), KeptIn.WORKSPACE);
    }

    /** Those for where outputs lie; made when they are asked for first, since each takes up to a second. */
    private Cuts cuts(boolean elsewhere) {
        if (!elsewhere || where.isEmpty()) {
            return here;
        }
        if (offloaded == null) {
            offloaded = cuts(measured.chain(), KeptIn.of(where));
        }
        return offloaded;
    }

    private static Cuts cuts(Chain chain, KeptIn where) {
        List<Keep> choices = new ArrayList<>(List.of(Keep.ALL));
        ChainCuts.of(chain, where).forEach(cut -> choices.add(new Keep(cut.ends())));
        Segments cut = ChainCuts.least(chain, where);
        Keep least = cut.count() > 1 ? new Keep(cut.ends()) : Keep.ALL;
        if (!choices.contains(least)) {
            choices.add(least);
        }
        return new Cuts(List.copyOf(choices), least);
    }

    /** A short pass that the JVM has not compiled yet, or collects garbage in, tells little. */
    private static ChainCuts.Measured shortest(Model model, TrainingTracker tracker) {
        ChainCuts.Measured shortest = measure(model, tracker);
        for (int more = 1; more < MEASURED && shortest.plainNanos() < LONG_NANOS; more++) {
            ChainCuts.Measured other = measure(model, tracker);
            shortest = other.plainNanos() < shortest.plainNanos() ? other : shortest;
        }
        return shortest;
    }

    private static ChainCuts.Measured measure(Model model, TrainingTracker tracker) {
        ChainCuts.Measured measured = ChainCuts.measure(model, tracker);
        tracker.extraPass(model, ExtraPass.REHEARSED);
        return measured;
    }

    @Override
    public List<Keep> choices(boolean elsewhere) {
        return cuts(elsewhere).choices;
    }

    @Override
    public Keep least(boolean elsewhere) {
        return cuts(elsewhere).least;
    }

    @Override
    public long savedBytes(Keep keep, boolean elsewhere, int its) {
        if (keep.isAll()) {
            return 0;
        }
        KeptIn kept = elsewhere ? KeptIn.of(where) : KeptIn.WORKSPACE;
        long saved = measured.chain().bytes() - new Segments(keep.cuts()).bytes(measured.chain(), kept);
        return saved * its / examples;
    }

    @Override
    public double extraShare(Keep keep) {
        return keep.isAll() ? 0 : (double) new Segments(keep.cuts()).nanos(measured.chain()) / measured.plainNanos();
    }
}
