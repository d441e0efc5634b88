// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.listeners.training.TrainingTracker;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;

/** Ways to cut a chain or a graph, from few activations computed again to many. Threading: the training thread. */
public final class ChainCuts {
    /** Shares of all activations that a cut is made for, by {@link SegmentPlanner}. */
    private static final double[] SHARES = {0.8, 0.65, 0.5, 0.4, 0.3};

    private ChainCuts() {}

    /**
     * The layers of a network and a pass over them.
     *
     * @param plainNanos time of a forward and backward pass that computes nothing again
     */
    public record Measured(Chain chain, long plainNanos) {}

    /** Computes the minibatch that {@code model} holds in segments of equal length and measures its layers. */
    public static Measured measure(Model model, TrainingTracker tracker) {
        Segments even = SegmentRun.even(model);
        long begun = System.nanoTime();
        Chain chain = Objects.requireNonNull(
                SegmentRun.of(model, new PassVisits(tracker, model), even, null, true)
                        .compute(),
                "a measured chain");
        return new Measured(chain, Math.max(1, System.nanoTime() - begun - even.nanos(chain)));
    }

    /**
     * Different cuts of {@code chain} that keep less and less, none that keeps all; empty for a chain too short to be cut.
     *
     * @param where outputs lie that segments leave
     */
    public static List<Segments> of(Chain chain, KeptIn where) {
        long[] budgets = Arrays.stream(SHARES)
                .mapToLong(share -> (long) (share * chain.bytes()))
                .toArray();
        return SegmentPlanner.planEach(chain, where, budgets).stream()
                .filter(cut -> cut.count() > 1)
                .distinct()
                .toList();
    }

    /** The cut that keeps least, the same however long layers took, so that what a network needs at least can be told again. */
    public static Segments least(Chain chain, KeptIn where) {
        return SegmentPlanner.plan(chain.withEqualTimes(), where, 0);
    }
}
