// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * One buffer after the other, in a given order, at the lowest offset that is free for its whole life. For problems without
 * gaps and fixed offsets.
 *
 * <p>Cost: O(n^2) plain comparisons in order of offsets. Threading: confined.
 */
final class FirstFit {
    private final Timeline time;
    /** What is placed, in order of offsets. */
    private final int[] starts;

    private final int[] ends;
    private final long[] bottoms;
    private final long[] tops;
    private int placed;

    FirstFit(Timeline time) {
        this.time = time;
        int count = time.problem.count();
        starts = new int[count];
        ends = new int[count];
        bottoms = new long[count];
        tops = new long[count];
    }

    static long[] plan(Timeline time, int[] order) {
        long[] offsets = new long[time.problem.count()];
        FirstFit fit = new FirstFit(time);
        for (int buffer : order) {
            offsets[buffer] = fit.place(buffer);
        }
        return offsets;
    }

    /** Puts a buffer where it fits, and returns its offset. */
    long place(int buffer) {
        int start = time.birth(buffer);
        int end = time.death(buffer);
        long size = time.problem.size(buffer);
        long alignment = time.problem.alignment(buffer);
        long offset = 0;
        for (int k = 0; k < placed && bottoms[k] < offset + size; k++) {
            if (starts[k] < end && start < ends[k] && tops[k] > offset) {
                offset = BestFitInTime.aligned(tops[k], alignment);
            }
        }
        put(buffer, offset);
        return offset;
    }

    /** Puts a buffer at an offset that is free; quickest in order of offsets. */
    void put(int buffer, long offset) {
        int at = placed++;
        for (; at > 0 && bottoms[at - 1] > offset; at--) {
            starts[at] = starts[at - 1];
            ends[at] = ends[at - 1];
            bottoms[at] = bottoms[at - 1];
            tops[at] = tops[at - 1];
        }
        starts[at] = time.birth(buffer);
        ends[at] = time.death(buffer);
        bottoms[at] = offset;
        tops[at] = offset + time.problem.size(buffer);
    }
}
