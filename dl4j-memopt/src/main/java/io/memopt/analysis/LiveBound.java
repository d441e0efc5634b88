// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/**
 * The most bytes that are between birth and last use at one time: no placement of the arrays in memory needs less. Time is
 * counted in births, for only then the sum can grow:
 *
 * <pre>
 *   births     0   1   2   3            array 0 last used after the birth of 1, array 1 never, array 2 to the end
 *   live       a   a,b c   c,d          bound = max(a, a+b, c, c+d)
 * </pre>
 *
 * <p>Arrays are told when they end, in any order; sums are complete up to the oldest array that has not ended, and older
 * ones are forgotten. At most {@value #MAX_OPEN} births are kept: an array that lives longer counts as used until it ends
 * and makes the figure an upper estimate, see {@link #isExact()}. O(1) for each birth. Threading: confined.
 */
final class LiveBound {
    private static final int MAX_OPEN = 1 << 20;

    /** Change of the sum at each birth from {@link #base} on, and the bytes of arrays that have not ended; rings. */
    private long[] changes = new long[64];

    private long[] open = new long[64];
    /** First birth whose sum is not complete. */
    private long base;
    /** Number of the next birth; may skip births of others. */
    private long next;

    private long sum;
    private long bound;
    private boolean exact = true;

    /** Birth {@code index}, not below any before. */
    void born(long index, long bytes) {
        if (next == base) {
            // Nothing is open: skip what others bore meanwhile.
            settle(index);
        }
        while (index + 1 - base >= MAX_OPEN) {
            force();
        }
        reserve(index + 2 - base);
        next = index + 1;
        open[at(index)] = bytes;
    }

    /** The array born at {@code birth} ended; it was in use up to birth {@code last}. */
    void ended(long birth, long last, long bytes) {
        if (birth >= base) {
            open[at(birth)] = 0;
            changes[at(birth)] += bytes;
        }
        changes[at(Math.max(base, Math.min(last + 1, next)))] -= bytes;
        while (base < next && open[at(base)] == 0) {
            advance();
        }
    }

    /** Bytes; complete once every array has ended. */
    long bound() {
        return bound;
    }

    /** False when an array lived through so many births that its last use was not waited for. */
    boolean isExact() {
        return exact;
    }

    private void force() {
        exact &= open[at(base)] == 0;
        changes[at(base)] += open[at(base)];
        open[at(base)] = 0;
        advance();
    }

    private void advance() {
        sum += changes[at(base)];
        changes[at(base)] = 0;
        bound = Math.max(bound, sum);
        base++;
    }

    /** Goes to birth {@code index}; what changes at the old position changes there. */
    private void settle(long index) {
        sum += changes[at(base)];
        changes[at(base)] = 0;
        base = index;
        next = index;
    }

    private int at(long index) {
        return (int) (index & changes.length - 1);
    }

    /** Makes room for {@code births} of them. */
    private void reserve(long births) {
        if (births > changes.length) {
            int size = Integer.highestOneBit((int) births) * 2;
            changes = moved(changes, size);
            open = moved(open, size);
        }
    }

    private long[] moved(long[] old, int size) {
        long[] moved = new long[size];
        for (long index = base; index <= next; index++) {
            moved[(int) (index & size - 1)] = old[(int) (index & old.length - 1)];
        }
        return moved;
    }
}
