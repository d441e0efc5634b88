// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Fills memory from the bottom: of the buffers that can come next, i.e. those below which no other one fits any more, takes
 * the most important one, and puts it at the lowest offset above everything placed. For problems without gaps and fixed
 * offsets.
 *
 * <p>Cost: O(n^2) plain comparisons.
 */
final class BottomUp {
    private BottomUp() {}

    /** Places the buffers; {@code order} begins with the most important one. */
    static long[] plan(Timeline time, int[] order) {
        return Objects.requireNonNull(plan(time, order, Long.MAX_VALUE));
    }

    /** The same, or null as soon as it turns out to be higher than {@code most} bytes. */
    static long @Nullable [] plan(Timeline time, int[] order, long most) {
        PlanProblem problem = time.problem;
        int open = order.length;
        int[] buffers = order.clone();
        int[] starts = new int[open];
        int[] ends = new int[open];
        long[] sizes = new long[open];
        long[] offsets = new long[open];
        for (int k = 0; k < open; k++) {
            starts[k] = time.birth(buffers[k]);
            ends[k] = time.death(buffers[k]);
            sizes[k] = problem.size(buffers[k]);
        }
        long[] result = new long[open];
        while (open > 0) {
            long lowestTop = Long.MAX_VALUE;
            for (int k = 0; k < open; k++) {
                lowestTop = Math.min(lowestTop, offsets[k] + sizes[k]);
            }
            int next = 0;
            while (offsets[next] >= lowestTop) {
                next++;
            }
            int buffer = buffers[next];
            int start = starts[next];
            int end = ends[next];
            result[buffer] = offsets[next];
            long top = offsets[next] + sizes[next];
            if (top > most) {
                return null;
            }
            open--;
            System.arraycopy(buffers, next + 1, buffers, next, open - next);
            System.arraycopy(starts, next + 1, starts, next, open - next);
            System.arraycopy(ends, next + 1, ends, next, open - next);
            System.arraycopy(sizes, next + 1, sizes, next, open - next);
            System.arraycopy(offsets, next + 1, offsets, next, open - next);
            for (int k = 0; k < open; k++) {
                if (offsets[k] < top && starts[k] < end && start < ends[k]) {
                    offsets[k] = BestFitInTime.aligned(top, problem.alignment(buffers[k]));
                    if (offsets[k] > most - sizes[k]) {
                        return null;
                    }
                }
            }
        }
        return result;
    }
}
