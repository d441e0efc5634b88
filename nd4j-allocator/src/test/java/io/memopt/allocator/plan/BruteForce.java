// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/** The lowest height by trying all offsets: right by its simplicity, for a handful of small buffers. */
final class BruteForce {
    private final PlanProblem problem;
    private final long[] offsets;

    private BruteForce(PlanProblem problem) {
        this.problem = problem;
        offsets = new long[problem.count()];
    }

    static long height(PlanProblem problem) {
        BruteForce search = new BruteForce(problem);
        long height = 0;
        while (!search.fits(0, height)) {
            height++;
        }
        return height;
    }

    private boolean fits(int buffer, long height) {
        if (buffer == offsets.length) {
            return true;
        }
        for (long offset = 0; offset + problem.size(buffer) <= height; offset++) {
            offsets[buffer] = offset;
            if (mayLieThere(buffer) && fits(buffer + 1, height)) {
                return true;
            }
        }
        return false;
    }

    private boolean mayLieThere(int buffer) {
        long offset = offsets[buffer];
        if (offset % problem.alignment(buffer) != 0
                || (problem.fixedOffset(buffer) != PlanProblem.FREE && problem.fixedOffset(buffer) != offset)) {
            return false;
        }
        for (int other = 0; other < buffer; other++) {
            for (long time = problem.start(buffer); time < problem.end(buffer); time++) {
                if (meet(buffer, other, time)) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean meet(int a, int b, long time) {
        long[] one = needed(a, time);
        long[] two = needed(b, time);
        return one[0] < one[1] && two[0] < two[1] && one[0] < two[1] && two[0] < one[1];
    }

    private long[] needed(int buffer, long time) {
        if (time < problem.start(buffer) || time >= problem.end(buffer)) {
            return new long[2];
        }
        long offset = offsets[buffer];
        for (int gap = 0; gap < problem.gapCount(); gap++) {
            if (problem.gapBuffer(gap) == buffer && problem.gapStart(gap) <= time && time < problem.gapEnd(gap)) {
                return new long[] {offset + problem.gapLow(gap), offset + problem.gapHigh(gap)};
            }
        }
        return new long[] {offset, offset + problem.size(buffer)};
    }
}
