// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * One buffer after the other, in a given order, at the lowest offset that is free for its whole life. For problems without
 * gaps and fixed offsets.
 *
 * <p>Cost: O(n^2) plain comparisons in order of offsets.
 */
final class FirstFit {
    private FirstFit() {}

    static long[] plan(Timeline time, int[] order) {
        PlanProblem problem = time.problem;
        long[] offsets = new long[problem.count()];
        int placed = 0;
        int[] starts = new int[order.length];
        int[] ends = new int[order.length];
        long[] bottoms = new long[order.length];
        long[] tops = new long[order.length];
        for (int buffer : order) {
            int start = time.birth(buffer);
            int end = time.death(buffer);
            long size = problem.size(buffer);
            long alignment = problem.alignment(buffer);
            long offset = 0;
            for (int k = 0; k < placed && bottoms[k] < offset + size; k++) {
                if (starts[k] < end && start < ends[k] && tops[k] > offset) {
                    offset = BestFitInTime.aligned(tops[k], alignment);
                }
            }
            offsets[buffer] = offset;
            int at = placed++;
            for (; at > 0 && bottoms[at - 1] > offset; at--) {
                starts[at] = starts[at - 1];
                ends[at] = ends[at - 1];
                bottoms[at] = bottoms[at - 1];
                tops[at] = tops[at - 1];
            }
            starts[at] = start;
            ends[at] = end;
            bottoms[at] = offset;
            tops[at] = offset + size;
        }
        return offsets;
    }
}
