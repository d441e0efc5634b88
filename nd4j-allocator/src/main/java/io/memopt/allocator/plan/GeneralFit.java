// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * First fit for every kind of problem: fixed buffers first, then the others in a given order, each at the lowest offset at
 * which none of its pieces meets a placed one. Time is divided into buckets so that a buffer looks only at what lives near.
 *
 * <p>Cost: for each buffer O(p log p), p being the placed pieces in the buckets of its life.
 */
final class GeneralFit {
    /** Pieces in more buckets than this are kept in one list that everybody looks at. */
    private static final int WIDE = 32;

    private static final int PLACED_PER_CLOCK = 64;

    private final Timeline time;
    private final long[] offsets;
    private final int bucketLength;
    private final int[][] buckets;
    private final int[] filled;
    private int[] wide = new int[16];
    private int wideCount;
    /** Forbidden offsets, exclusive at both ends. */
    private long[] above = new long[64];

    private long[] below = new long[64];
    private int forbidden;

    private GeneralFit(Timeline time) {
        this.time = time;
        offsets = new long[time.problem.count()];
        int number = Math.max(1, time.pieces / 8);
        bucketLength = time.moments / number + 1;
        buckets = new int[time.moments / bucketLength + 1][];
        Arrays.fill(buckets, new int[0]);
        filled = new int[buckets.length];
    }

    /**
     * Places the buffers.
     *
     * @throws IllegalArgumentException if two fixed buffers overlap
     */
    static long[] plan(Timeline time, int[] order) {
        return Objects.requireNonNull(plan(time, order, time.problem.fixedOffsets(), null));
    }

    /** The same, or null if a deadline passes before it is done. */
    static long @Nullable [] plan(Timeline time, int[] order, Deadline deadline) {
        return plan(time, order, time.problem.fixedOffsets(), deadline);
    }

    /**
     * Places what has no offset yet.
     *
     * @param given offsets of buffers in bytes, {@link PlanProblem#FREE} for those that are to be placed
     */
    static long @Nullable [] plan(Timeline time, int[] order, long[] given, @Nullable Deadline deadline) {
        GeneralFit fit = new GeneralFit(time);
        int placed = 0;
        for (int buffer : order) {
            if (given[buffer] != PlanProblem.FREE) {
                if (fit.lowest(buffer, given[buffer]) != given[buffer]) {
                    throw new IllegalArgumentException(collision(time.problem, buffer));
                }
                fit.place(buffer, given[buffer]);
            }
        }
        for (int buffer : order) {
            if (deadline != null && ++placed % PLACED_PER_CLOCK == 0 && deadline.passed()) {
                return null;
            }
            if (given[buffer] == PlanProblem.FREE) {
                fit.place(buffer, fit.lowest(buffer, 0));
            }
        }
        return fit.offsets;
    }

    /** Named by what it is: the number is that of a part of the caller's problem. */
    private static String collision(PlanProblem problem, int buffer) {
        return "The buffer of size=" + problem.size(buffer) + " that lives on [" + problem.start(buffer) + ", "
                + problem.end(buffer) + ") cannot lie at its fixed offset=" + problem.fixedOffset(buffer)
                + ": another fixed buffer is there at the same time. Move one of them";
    }

    private void place(int buffer, long offset) {
        offsets[buffer] = offset;
        for (int piece = time.firstPiece[buffer]; piece < time.firstPiece[buffer + 1]; piece++) {
            int first = time.from[piece] / bucketLength;
            int last = (time.to[piece] - 1) / bucketLength;
            if (last - first >= WIDE) {
                wide = appended(wide, wideCount++, piece);
                continue;
            }
            for (int bucket = first; bucket <= last; bucket++) {
                buckets[bucket] = appended(buckets[bucket], filled[bucket]++, piece);
            }
        }
    }

    private static int[] appended(int[] list, int at, int value) {
        int[] longer = at < list.length ? list : Arrays.copyOf(list, Math.max(8, at * 2));
        longer[at] = value;
        return longer;
    }

    /** Lowest free offset from {@code least} on. */
    private long lowest(int buffer, long least) {
        forbidden = 0;
        for (int piece = time.firstPiece[buffer]; piece < time.firstPiece[buffer + 1]; piece++) {
            int first = time.from[piece] / bucketLength;
            int last = (time.to[piece] - 1) / bucketLength;
            for (int bucket = first; bucket <= last; bucket++) {
                // What began in an earlier bucket was seen there.
                int begins = bucket == first ? 0 : bucket * bucketLength;
                for (int k = 0; k < filled[bucket]; k++) {
                    int other = buckets[bucket][k];
                    if (time.from[other] >= begins) {
                        forbid(piece, other);
                    }
                }
            }
            for (int k = 0; k < wideCount; k++) {
                forbid(piece, wide[k]);
            }
        }
        sort(0, forbidden - 1);
        long offset = least;
        long alignment = time.problem.alignment(buffer);
        for (int k = 0; k < forbidden && above[k] < offset; k++) {
            if (offset < below[k]) {
                offset = BestFitInTime.aligned(below[k], alignment);
            }
        }
        return offset;
    }

    private void forbid(int mine, int other) {
        if (time.from[other] < time.to[mine] && time.from[mine] < time.to[other]) {
            long offset = offsets[time.buffer[other]];
            if (forbidden == above.length) {
                above = Arrays.copyOf(above, forbidden * 2);
                below = Arrays.copyOf(below, forbidden * 2);
            }
            above[forbidden] = offset + time.low[other] - time.high[mine];
            below[forbidden++] = offset + time.high[other] - time.low[mine];
        }
    }

    /** Both arrays by {@link #above}; quick for long stretches, insertion for short ones. */
    private void sort(int from, int to) {
        while (to - from > 24) {
            long pivot = above[(from + to) >>> 1];
            int low = from;
            int high = to;
            while (low <= high) {
                while (above[low] < pivot) {
                    low++;
                }
                while (above[high] > pivot) {
                    high--;
                }
                if (low <= high) {
                    swap(low++, high--);
                }
            }
            if (high - from < to - low) {
                sort(from, high);
                from = low;
            } else {
                sort(low, to);
                to = high;
            }
        }
        for (int i = from + 1; i <= to; i++) {
            for (int k = i; k > from && above[k - 1] > above[k]; k--) {
                swap(k - 1, k);
            }
        }
    }

    private void swap(int i, int k) {
        long kept = above[i];
        above[i] = above[k];
        above[k] = kept;
        kept = below[i];
        below[i] = below[k];
        below[k] = kept;
    }
}
