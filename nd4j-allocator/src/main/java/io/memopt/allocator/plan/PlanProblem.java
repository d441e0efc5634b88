// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Buffers with known lifetimes that are to share one range of addresses (offline dynamic storage allocation).
 *
 * <p>A buffer has a size in bytes and lives on the half-open interval {@code [start, end)} of any clock that orders events.
 * It may ask for an alignment, be nailed to an offset, and have gaps: times within its life when it needs nothing, or only a
 * window {@code [low, high)} of its bytes. Buffers are numbered from 0 in the order in which they were added.
 *
 * <pre>
 *   PlanProblem problem = PlanProblem.builder()
 *       .add(0, 3, 4096)
 *       .add(2, 9, 1024).alignment(64)
 *       .build();
 * </pre>
 *
 * <p>Threading: immutable, the builder is confined. Memory: 40 bytes for each buffer, 40 more for each gap.
 */
public final class PlanProblem {
    /** What {@link #fixedOffset} answers for a buffer that may go anywhere. */
    public static final long FREE = -1;

    private static final int GAP_FIELDS = 5;

    private final int count;
    private final long[] starts;
    private final long[] ends;
    private final long[] sizes;
    private final long[] alignments;
    private final long[] fixed;
    /** Buffer, start, end, low, high of each gap, in order of buffers and then of starts. */
    private final long[] gaps;

    private PlanProblem(Builder from) {
        count = from.count;
        starts = Arrays.copyOf(from.starts, count);
        ends = Arrays.copyOf(from.ends, count);
        sizes = Arrays.copyOf(from.sizes, count);
        alignments = Arrays.copyOf(from.alignments, count);
        fixed = Arrays.copyOf(from.fixed, count);
        gaps = Arrays.copyOf(from.gaps, from.gapCount * GAP_FIELDS);
    }

    /** An empty problem to add to. */
    public static Builder builder() {
        return new Builder();
    }

    /** Number of buffers, 0 or more. */
    public int count() {
        return count;
    }

    /** First moment at which it is live. */
    public long start(int buffer) {
        return starts[buffer];
    }

    /** First moment at which it is not live any more; above {@link #start}. */
    public long end(int buffer) {
        return ends[buffer];
    }

    /** Bytes, at least 1. */
    public long size(int buffer) {
        return sizes[buffer];
    }

    /** What divides the offset, at least 1. */
    public long alignment(int buffer) {
        return alignments[buffer];
    }

    /** The offset that it must have, or {@link #FREE}. */
    public long fixedOffset(int buffer) {
        return fixed[buffer];
    }

    /** Those of all buffers, as a copy. */
    long[] fixedOffsets() {
        return fixed.clone();
    }

    /** Gaps of all buffers. */
    int gapCount() {
        return gaps.length / GAP_FIELDS;
    }

    int gapBuffer(int gap) {
        return (int) gaps[gap * GAP_FIELDS];
    }

    long gapStart(int gap) {
        return gaps[gap * GAP_FIELDS + 1];
    }

    long gapEnd(int gap) {
        return gaps[gap * GAP_FIELDS + 2];
    }

    /** First byte that is needed in the gap; equal to {@link #gapHigh} when none is. */
    long gapLow(int gap) {
        return gaps[gap * GAP_FIELDS + 3];
    }

    long gapHigh(int gap) {
        return gaps[gap * GAP_FIELDS + 4];
    }

    /** Some of the buffers, given in ascending order, as a problem of their own. */
    PlanProblem part(int[] buffers) {
        Builder part = new Builder();
        int gap = firstGap(buffers[0]);
        for (int i : buffers) {
            part.add(starts[i], ends[i], sizes[i]).alignment(alignments[i]);
            part.fixed[part.count - 1] = fixed[i];
            while (gap < gapCount() && gapBuffer(gap) < i) {
                gap++;
            }
            for (; gap < gapCount() && gapBuffer(gap) == i; gap++) {
                part.gap(gapStart(gap), gapEnd(gap), gapLow(gap), gapHigh(gap));
            }
        }
        return new PlanProblem(part);
    }

    private int firstGap(int buffer) {
        int low = 0;
        int high = gapCount();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (gapBuffer(middle) < buffer) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Collects buffers; what follows {@link #add} is about the buffer added last. */
    public static final class Builder {
        private int count;
        private long[] starts = new long[16];
        private long[] ends = new long[16];
        private long[] sizes = new long[16];
        private long[] alignments = new long[16];
        private long[] fixed = new long[16];
        private int gapCount;
        private long[] gaps = new long[0];
        private long sum;

        private Builder() {}

        /**
         * A buffer that may lie anywhere.
         *
         * @param start first moment of its life
         * @param end first moment after it, above {@code start}
         * @param size bytes, at least 1
         * @throws IllegalArgumentException if the interval is empty, the size is not positive, or all sizes together pass
         *     2^61
         */
        public Builder add(long start, long end, long size) {
            require(
                    start < end,
                    () -> "start=" + start + ", end=" + end + ": a lifetime [start, end) must not be empty");
            require(size > 0, () -> "size=" + size + ", expected at least 1 byte");
            require(size <= (1L << 61) - sum, () -> "size=" + size + ": all sizes together must not pass 2^61");
            sum += size;
            if (count == starts.length) {
                grow();
            }
            starts[count] = start;
            ends[count] = end;
            sizes[count] = size;
            alignments[count] = 1;
            fixed[count] = FREE;
            count++;
            return this;
        }

        /**
         * What must divide the offset of the buffer added last.
         *
         * @param bytes 1 to 2^30
         */
        public Builder alignment(long bytes) {
            requireBuffer();
            require(bytes > 0 && bytes <= 1 << 30, () -> "alignment=" + bytes + ", expected 1 to 2^30");
            alignments[count - 1] = bytes;
            return this;
        }

        /**
         * Where the buffer added last must lie.
         *
         * @param offset 0 to 2^61
         */
        public Builder fixedAt(long offset) {
            requireBuffer();
            require(offset >= 0 && offset <= 1L << 61, () -> "offset=" + offset + ", expected 0 to 2^61");
            fixed[count - 1] = offset;
            return this;
        }

        /** The buffer added last needs no memory on {@code [start, end)}. */
        public Builder gap(long start, long end) {
            return gap(start, end, 0, 0);
        }

        /**
         * The buffer added last needs only its bytes {@code [low, high)} on {@code [start, end)}. Gaps come in ascending order
         * and lie within the life of the buffer.
         */
        public Builder gap(long start, long end, long low, long high) {
            requireBuffer();
            int buffer = count - 1;
            long after = gapCount > 0 && gaps[(gapCount - 1) * GAP_FIELDS] == buffer
                    ? gaps[(gapCount - 1) * GAP_FIELDS + 2]
                    : starts[buffer];
            require(
                    after <= start && start < end && end <= ends[buffer],
                    () -> "gap=[" + start + ", " + end + "), expected ascending intervals within [" + starts[buffer]
                            + ", " + ends[buffer] + ")");
            require(
                    0 <= low && low <= high && high <= sizes[buffer],
                    () -> "window=[" + low + ", " + high + "), expected a part of [0, " + sizes[buffer] + ")");
            int at = gapCount++ * GAP_FIELDS;
            if (at == gaps.length) {
                gaps = Arrays.copyOf(gaps, Math.max(8 * GAP_FIELDS, at * 2));
            }
            gaps[at] = buffer;
            gaps[at + 1] = start;
            gaps[at + 2] = end;
            gaps[at + 3] = low;
            gaps[at + 4] = high;
            return this;
        }

        /**
         * The problem so far; the builder may go on.
         *
         * @throws IllegalArgumentException if a fixed offset is not a multiple of the alignment
         */
        public PlanProblem build() {
            for (int i = 0; i < count; i++) {
                int buffer = i;
                require(
                        fixed[i] == FREE || fixed[i] % alignments[i] == 0,
                        () -> "buffer " + buffer + ": offset=" + fixed[buffer] + " is no multiple of alignment="
                                + alignments[buffer]);
            }
            return new PlanProblem(this);
        }

        private void grow() {
            int length = count * 2;
            starts = Arrays.copyOf(starts, length);
            ends = Arrays.copyOf(ends, length);
            sizes = Arrays.copyOf(sizes, length);
            alignments = Arrays.copyOf(alignments, length);
            fixed = Arrays.copyOf(fixed, length);
        }

        private void requireBuffer() {
            if (count == 0) {
                throw new IllegalStateException("There is no buffer yet that this could be about; call add first");
            }
        }

        private static void require(boolean condition, Supplier<String> complaint) {
            if (!condition) {
                throw new IllegalArgumentException(complaint.get());
            }
        }
    }
}
