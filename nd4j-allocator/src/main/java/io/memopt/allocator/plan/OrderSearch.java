// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Hill climbing on the order that {@link BottomUp} follows: some buffers of the best order so far move to random places, and
 * the new order stays if its plan is not higher. For parts that are too large for the exact search to be soon done; one
 * order by load is within two percent there, and a few moves close most of what is left.
 *
 * <p>Repeatable: the random moves are always the same. Cost: {@value #TRIES} plans at most, most of them given up early.
 */
final class OrderSearch {
    /** Of fewer buffers the exact search makes more. */
    static final int LEAST_BUFFERS = 512;

    private static final int TRIES = 64;
    /** Of 2, 5 and 10, tried on lives between uniform moments, the one that came closest to the bound within 50 ms. */
    private static final int MOVES = 5;

    private OrderSearch() {}

    /**
     * Looks for a plan lower than {@code height}.
     *
     * @param order where to begin; not changed
     * @param goal height that is enough
     * @return the lowest found; null when none is as low as {@code height}
     */
    static long @Nullable [] plan(Timeline time, int[] order, long height, long goal, Deadline deadline) {
        SplittableRandom random = new SplittableRandom(1);
        int[] best = order;
        long lowest = height;
        long[] plan = null;
        for (int i = 0; i < TRIES && lowest > goal && !deadline.passed(); i++) {
            int[] other = best.clone();
            for (int k = 0; k < MOVES; k++) {
                move(other, random.nextInt(other.length), random.nextInt(other.length));
            }
            long[] found = BottomUp.plan(time, other, lowest);
            if (found != null) {
                best = other;
                plan = found;
                lowest = top(time, found);
            }
        }
        return plan;
    }

    private static void move(int[] order, int from, int to) {
        int moved = order[from];
        if (from < to) {
            System.arraycopy(order, from + 1, order, from, to - from);
        } else {
            System.arraycopy(order, to, order, to + 1, from - to);
        }
        order[to] = moved;
    }

    private static long top(Timeline time, long[] plan) {
        long top = 0;
        for (int i = 0; i < plan.length; i++) {
            top = Math.max(top, plan[i] + time.problem.size(i));
        }
        return top;
    }
}
