// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;

/**
 * What an allocator without foresight would do: in order of time, each buffer into a hole that it hardly fits, the next one
 * at the top if there is none. Run backwards it does the same from the last death to the first birth, which is often better
 * for training: what lives long is then placed before what is nested in it.
 *
 * <p>Gaps are not used, fixed offsets are not supported. Holes of similar size share a bin, of which a few are looked at.
 * Cost: O(n log n) for sorting, O(1) for each placement.
 */
final class BestFitInTime {
    private static final int NONE = -1;

    /** Bins for each power of two, as a power of two. */
    private static final int FINE_BITS = 4;

    private static final int BINS = 64 << FINE_BITS;

    /** Holes of a bin that are looked at for the best one. */
    private static final int LOOKS = 8;

    /** Blocks in order of offsets, live ones and holes in turn; no two holes are neighbours. */
    private final long[] offset;

    private final long[] length;
    private final int[] below;
    private final int[] above;
    /** Links of the holes of one bin. */
    private final int[] previous;

    private final int[] next;
    private final boolean[] hole;
    private final int[] bins = new int[BINS];
    private final long[] filled = new long[BINS / Long.SIZE];
    private int unused = NONE;
    private int made;
    private int topmost = NONE;

    private BestFitInTime(int buffers) {
        int blocks = 2 * buffers + 2;
        offset = new long[blocks];
        length = new long[blocks];
        below = new int[blocks];
        above = new int[blocks];
        previous = new int[blocks];
        next = new int[blocks];
        hole = new boolean[blocks];
        Arrays.fill(bins, NONE);
    }

    static long[] plan(Timeline time, boolean backwards) {
        PlanProblem problem = time.problem;
        int count = problem.count();
        int[] births = byMoment(time, backwards, true);
        int[] deaths = byMoment(time, backwards, false);
        long[] offsets = new long[count];
        int[] blocks = new int[count];
        BestFitInTime arena = new BestFitInTime(count);
        int dead = 0;
        for (int buffer : births) {
            int now = backwards ? -time.death(buffer) : time.birth(buffer);
            while ((backwards ? -time.birth(deaths[dead]) : time.death(deaths[dead])) <= now) {
                arena.free(blocks[deaths[dead++]]);
            }
            blocks[buffer] = arena.take(problem.size(buffer), problem.alignment(buffer));
            offsets[buffer] = arena.offset[blocks[buffer]];
        }
        return offsets;
    }

    /** All buffers by the moment at which they begin, or end, seen in the direction of the walk. */
    private static int[] byMoment(Timeline time, boolean backwards, boolean beginning) {
        int count = time.problem.count();
        long[] keys = new long[count];
        for (int i = 0; i < count; i++) {
            int moment = beginning != backwards ? time.birth(i) : time.death(i);
            keys[i] = (long) (backwards ? time.moments - moment : moment) << 32 | i;
        }
        Arrays.sort(keys);
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            order[i] = (int) keys[i];
        }
        return order;
    }

    private int take(long size, long alignment) {
        int block = find(size, alignment);
        if (block == NONE) {
            block = grown(size, alignment);
        } else {
            unlink(block);
        }
        long start = aligned(offset[block], alignment);
        if (start > offset[block]) {
            int rest = insertBelow(block, start - offset[block]);
            link(rest);
        }
        if (length[block] > size) {
            int kept = insertBelow(block, size);
            link(block);
            return kept;
        }
        return block;
    }

    /** A hole that holds so much, or none. */
    private int find(long size, long alignment) {
        int best = NONE;
        for (int bin = filledFrom(bin(size)); bin < BINS && best == NONE; bin = filledFrom(bin + 1)) {
            int looks = LOOKS;
            for (int block = bins[bin]; block != NONE && looks-- > 0; block = next[block]) {
                if (aligned(offset[block], alignment) + size <= offset[block] + length[block]
                        && (best == NONE || length[block] < length[best])) {
                    best = block;
                }
            }
        }
        return best;
    }

    /** A block at the top that is long enough, taken from the topmost hole and what lies above it. */
    private int grown(long size, long alignment) {
        if (topmost != NONE && hole[topmost]) {
            unlink(topmost);
            length[topmost] = aligned(offset[topmost], alignment) + size - offset[topmost];
            return topmost;
        }
        long start = topmost == NONE ? 0 : offset[topmost] + length[topmost];
        int block = fresh();
        offset[block] = start;
        length[block] = aligned(start, alignment) + size - start;
        below[block] = topmost;
        above[block] = NONE;
        if (topmost != NONE) {
            above[topmost] = block;
        }
        topmost = block;
        return block;
    }

    private void free(int block) {
        int lower = below[block];
        int upper = above[block];
        if (lower != NONE && hole[lower]) {
            unlink(lower);
            offset[block] = offset[lower];
            length[block] += length[lower];
            cutOut(lower);
        }
        if (upper != NONE && hole[upper]) {
            unlink(upper);
            length[block] += length[upper];
            cutOut(upper);
        }
        link(block);
    }

    /** Cuts the lowest bytes off a block, as a block of their own. */
    private int insertBelow(int block, long bytes) {
        int part = fresh();
        offset[part] = offset[block];
        length[part] = bytes;
        offset[block] += bytes;
        length[block] -= bytes;
        below[part] = below[block];
        above[part] = block;
        if (below[block] != NONE) {
            above[below[block]] = part;
        }
        below[block] = part;
        return part;
    }

    private void cutOut(int block) {
        if (below[block] != NONE) {
            above[below[block]] = above[block];
        }
        if (above[block] == NONE) {
            topmost = below[block];
        } else {
            below[above[block]] = below[block];
        }
        next[block] = unused;
        unused = block;
    }

    private int fresh() {
        if (unused == NONE) {
            return made++;
        }
        int block = unused;
        unused = next[block];
        return block;
    }

    private void link(int block) {
        int bin = bin(length[block]);
        hole[block] = true;
        previous[block] = NONE;
        next[block] = bins[bin];
        if (bins[bin] != NONE) {
            previous[bins[bin]] = block;
        }
        bins[bin] = block;
        filled[bin >> 6] |= 1L << bin;
    }

    private void unlink(int block) {
        int bin = bin(length[block]);
        hole[block] = false;
        if (previous[block] == NONE) {
            bins[bin] = next[block];
            if (next[block] == NONE) {
                filled[bin >> 6] &= ~(1L << bin);
            }
        } else {
            next[previous[block]] = next[block];
        }
        if (next[block] != NONE) {
            previous[next[block]] = previous[block];
        }
    }

    private int filledFrom(int bin) {
        for (int word = bin >> 6; word < filled.length; word++) {
            long bits = word == bin >> 6 ? filled[word] & -1L << bin : filled[word];
            if (bits != 0) {
                return (word << 6) + Long.numberOfTrailingZeros(bits);
            }
        }
        return BINS;
    }

    private static int bin(long bytes) {
        int power = 63 - Long.numberOfLeadingZeros(bytes);
        long fine = power >= FINE_BITS ? bytes >> (power - FINE_BITS) : bytes << (FINE_BITS - power);
        return (power << FINE_BITS) + (int) fine - (1 << FINE_BITS);
    }

    static long aligned(long offset, long alignment) {
        return alignment == 1 ? offset : (offset + alignment - 1) / alignment * alignment;
    }
}
