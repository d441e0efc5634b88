// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * Heights below which there is no plan.
 *
 * <p>The most bytes live at once, the top of each buffer that is fixed, and where all offsets are multiples of some number
 * and all buffers whole: the most rounded bytes live at once, less the largest rounding, for only the topmost of them needs
 * none.
 */
final class LowerBound {
    private LowerBound() {}

    static long of(Timeline time) {
        PlanProblem problem = time.problem;
        long bound = 0;
        long grain = 0;
        for (int i = 0; i < problem.count(); i++) {
            grain = gcd(grain, problem.alignment(i));
            bound = Math.max(bound, Math.max(0, problem.fixedOffset(i)) + problem.size(i));
        }
        for (long bytes : time.load()) {
            bound = Math.max(bound, bytes);
        }
        return grain > 1 && !time.windowed ? Math.max(bound, rounded(time, grain)) : bound;
    }

    private static long rounded(Timeline time, long grain) {
        long[] change = new long[time.moments + 1];
        long largestRounding = 0;
        for (int i = 0; i < time.pieces; i++) {
            long size = time.high[i];
            long up = (size + grain - 1) / grain * grain;
            largestRounding = Math.max(largestRounding, up - size);
            change[time.from[i]] += up;
            change[time.to[i]] -= up;
        }
        long load = 0;
        long most = 0;
        for (long bytes : change) {
            load += bytes;
            most = Math.max(most, load);
        }
        return most - largestRounding;
    }

    static long gcd(long a, long b) {
        while (b != 0) {
            long rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
}
