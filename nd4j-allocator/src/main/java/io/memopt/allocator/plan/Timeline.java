// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;

/**
 * A problem with its times replaced by ranks and its gaps cut out: pieces {@code [from, to)} of moments 0 to {@link #moments},
 * each needing the bytes {@code [low, high)} of its buffer.
 *
 * <p>Cost: O(n log n).
 */
final class Timeline {
    final PlanProblem problem;
    final int moments;
    final int pieces;
    final int[] buffer;
    final int[] from;
    final int[] to;
    final long[] low;
    final long[] high;
    /** Index of the first piece of each buffer, and one past the last of all. */
    final int[] firstPiece;
    /** Whether some piece is a window of its buffer. */
    final boolean windowed;

    private final long[] starts;
    private final long[] ends;
    private int filled;

    Timeline(PlanProblem problem) {
        this.problem = problem;
        int most = problem.count() + 2 * problem.gapCount();
        buffer = new int[most];
        starts = new long[most];
        ends = new long[most];
        low = new long[most];
        high = new long[most];
        firstPiece = new int[problem.count() + 1];
        windowed = cut();
        pieces = filled;
        long[] times = Arrays.copyOf(starts, pieces * 2);
        System.arraycopy(ends, 0, times, pieces, pieces);
        Arrays.sort(times);
        int distinct = 0;
        for (int i = 0; i < times.length; i++) {
            if (i == 0 || times[i] != times[distinct - 1]) {
                times[distinct++] = times[i];
            }
        }
        moments = distinct;
        from = ranks(starts, times);
        to = ranks(ends, times);
    }

    private boolean cut() {
        boolean windows = false;
        int gap = 0;
        for (int i = 0; i < problem.count(); i++) {
            firstPiece[i] = filled;
            long start = problem.start(i);
            for (; gap < problem.gapCount() && problem.gapBuffer(gap) == i; gap++) {
                add(i, start, problem.gapStart(gap), 0, problem.size(i));
                add(i, problem.gapStart(gap), problem.gapEnd(gap), problem.gapLow(gap), problem.gapHigh(gap));
                windows |= problem.gapLow(gap) < problem.gapHigh(gap);
                start = problem.gapEnd(gap);
            }
            add(i, start, problem.end(i), 0, problem.size(i));
        }
        firstPiece[problem.count()] = filled;
        return windows;
    }

    private void add(int owner, long start, long end, long lowest, long highest) {
        if (start < end && lowest < highest) {
            buffer[filled] = owner;
            starts[filled] = start;
            ends[filled] = end;
            low[filled] = lowest;
            high[filled] = highest;
            filled++;
        }
    }

    private int[] ranks(long[] values, long[] times) {
        int[] ranks = new int[pieces];
        for (int i = 0; i < pieces; i++) {
            ranks[i] = Arrays.binarySearch(times, 0, moments, values[i]);
        }
        return ranks;
    }

    /** First moment of a buffer that needs anything at all; {@link #moments} for one that is all gap. */
    int birth(int owner) {
        return firstPiece[owner] < firstPiece[owner + 1] ? from[firstPiece[owner]] : moments;
    }

    /** Moment after the last piece of a buffer. */
    int death(int owner) {
        return firstPiece[owner] < firstPiece[owner + 1] ? to[firstPiece[owner + 1] - 1] : moments;
    }

    /** Bytes needed at each moment, as if placed without waste. */
    long[] load() {
        long[] load = new long[moments + 1];
        for (int i = 0; i < pieces; i++) {
            load[from[i]] += high[i] - low[i];
            load[to[i]] -= high[i] - low[i];
        }
        for (int i = 1; i <= moments; i++) {
            load[i] += load[i - 1];
        }
        return load;
    }
}
