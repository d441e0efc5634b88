// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * Fills memory from the bottom: of the buffers that can come next, i.e. those below which no other one fits any more, takes
 * the most important one, and puts it at the lowest offset above everything placed. For problems without gaps and fixed
 * offsets.
 *
 * <p>Cost: O(n^2) plain comparisons: one pass over the open (not yet placed) buffers for each that is placed.
 */
final class BottomUp {
    private final long[] result;
    private int open;
    /** What is known of the open buffers, in order of importance; offsets are the lowest that are still possible. */
    private final int[] buffers;

    private final int[] starts;
    private final int[] ends;
    private final long[] sizes;
    private final long[] alignments;
    private final long[] offsets;
    /** Lowest end of an open buffer that would lie at its offset. */
    private long lowestTop = Long.MAX_VALUE;

    private BottomUp(Timeline time, int[] order) {
        open = order.length;
        result = new long[open];
        buffers = order.clone();
        starts = new int[open];
        ends = new int[open];
        sizes = new long[open];
        alignments = new long[open];
        offsets = new long[open];
        for (int k = 0; k < open; k++) {
            starts[k] = time.birth(buffers[k]);
            ends[k] = time.death(buffers[k]);
            sizes[k] = time.problem.size(buffers[k]);
            alignments[k] = time.problem.alignment(buffers[k]);
            lowestTop = Math.min(lowestTop, sizes[k]);
        }
    }

    /** Places the buffers; {@code order} begins with the most important one. */
    static long[] plan(Timeline time, int[] order) {
        BottomUp plan = new BottomUp(time, order);
        while (plan.open > 0) {
            plan.placeNext();
        }
        return plan.result;
    }

    private void placeNext() {
        int next = 0;
        while (offsets[next] >= lowestTop) {
            next++;
        }
        result[buffers[next]] = offsets[next];
        int start = starts[next];
        int end = ends[next];
        long top = offsets[next] + sizes[next];
        takeOut(next);
        lift(start, end, top);
    }

    private void takeOut(int placed) {
        int above = --open - placed;
        System.arraycopy(buffers, placed + 1, buffers, placed, above);
        System.arraycopy(starts, placed + 1, starts, placed, above);
        System.arraycopy(ends, placed + 1, ends, placed, above);
        System.arraycopy(sizes, placed + 1, sizes, placed, above);
        System.arraycopy(alignments, placed + 1, alignments, placed, above);
        System.arraycopy(offsets, placed + 1, offsets, placed, above);
    }

    /** Lifts the open buffers that meet a placed one above its top. */
    private void lift(int start, int end, long top) {
        long lowest = Long.MAX_VALUE;
        for (int k = 0; k < open; k++) {
            long offset = offsets[k];
            if (offset < top && starts[k] < end && start < ends[k]) {
                offset = BestFitInTime.aligned(top, alignments[k]);
                offsets[k] = offset;
            }
            lowest = Math.min(lowest, offset + sizes[k]);
        }
        lowestTop = lowest;
    }
}
