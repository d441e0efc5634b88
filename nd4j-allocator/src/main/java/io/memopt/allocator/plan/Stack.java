// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;

/**
 * A plan that grows from the bottom up. Of the buffers that can come next, i.e. those below which no other one fits any more,
 * one is taken and put at the lowest offset above everything placed, as {@link BottomUp} does; it is known by its index among
 * the open (not yet placed) buffers. The skyline is the top of what is placed, section by section; skyline and open bytes of a
 * section together are a height that the plan will have at least, and waste is what makes them grow.
 *
 * <p>Threading: confined. Cost of a buffer: O(open buffers), in loops that a compiler turns to vector instructions; skyline and
 * load follow when what was placed is settled. No allocation while placing.
 */
final class Stack {
    /** Offset of buffers that are placed; with a size on top still an int. */
    static final int PLACED = 1 << 30;

    /** Where the buffers were put, in grains. */
    final int[] result;
    /** What is known of the open buffers, in order of importance, and of some placed ones in between. */
    final int[] buffers;

    final int[] starts;
    /** 0 for those that are placed. */
    final int[] ends;

    final int[] sizes;
    /** Lowest offsets that are still possible, or {@link #PLACED}. */
    final int[] offsets;

    /** As of what is settled. */
    final int[] skyline;
    /** Grains of each section that are not settled. */
    final int[] load;

    private final StackModel model;
    private int length;
    private int open;

    Stack(StackModel model) {
        this.model = model;
        result = new int[model.count];
        buffers = new int[model.count];
        starts = new int[model.count];
        ends = new int[model.count];
        sizes = new int[model.count];
        offsets = new int[model.count];
        skyline = new int[model.sections + 1];
        load = new int[model.sections + 1];
    }

    /** Number of open buffers. */
    int open() {
        return open;
    }

    /** Number of indices, those of placed buffers included. */
    int length() {
        return length;
    }

    /** Begins anew with some buffers, all open. */
    void begin(int[] some) {
        for (int k = 0; k < some.length; k++) {
            int buffer = some[k];
            buffers[k] = buffer;
            starts[k] = model.start[buffer];
            ends[k] = model.end[buffer];
            sizes[k] = model.size[buffer];
            offsets[k] = 0;
        }
        length = some.length;
        open = length;
        Arrays.fill(skyline, 0);
        System.arraycopy(model.load(some), 0, load, 0, load.length);
    }

    /** Becomes what another one is. */
    void copy(Stack other) {
        length = other.length;
        open = other.open;
        System.arraycopy(other.result, 0, result, 0, result.length);
        System.arraycopy(other.buffers, 0, buffers, 0, length);
        System.arraycopy(other.starts, 0, starts, 0, length);
        System.arraycopy(other.ends, 0, ends, 0, length);
        System.arraycopy(other.sizes, 0, sizes, 0, length);
        System.arraycopy(other.offsets, 0, offsets, 0, length);
        System.arraycopy(other.skyline, 0, skyline, 0, skyline.length);
        System.arraycopy(other.load, 0, load, 0, load.length);
    }

    /** A height that the plan will have at least, as of what is settled; when that is all, its height. */
    int bound() {
        int bound = 0;
        for (int s = 0; s < skyline.length; s++) {
            bound = Math.max(bound, skyline[s] + load[s]);
        }
        return bound;
    }

    /** Index of an open buffer. */
    int indexOf(int buffer) {
        int k = 0;
        while (buffers[k] != buffer) {
            k++;
        }
        return k;
    }

    /** Where the lowest of the open buffers would end; those that lie below it can come next. */
    int lowestTop() {
        return lowestTop(offsets, sizes, length);
    }

    private static int lowestTop(int[] offsets, int[] sizes, int length) {
        int lowest = Integer.MAX_VALUE;
        for (int k = 0; k < length; k++) {
            lowest = Math.min(lowest, offsets[k] + sizes[k]);
        }
        return lowest;
    }

    /** Puts an open buffer where it lies lowest. */
    void place(int k) {
        int start = starts[k];
        int end = ends[k];
        int top = offsets[k] + sizes[k];
        result[buffers[k]] = offsets[k];
        offsets[k] = PLACED;
        ends[k] = 0;
        open--;
        lift(starts, ends, offsets, length, start, end, top);
    }

    /** Lifts those that meet {@code [start, end)} above a top. No branches, so that it is done many at a time. */
    private static void lift(int[] starts, int[] ends, int[] offsets, int length, int start, int end, int top) {
        for (int k = 0; k < length; k++) {
            int least = top & (((starts[k] - end) & (start - ends[k])) >> 31);
            int higher = offsets[k] - least;
            offsets[k] -= higher & (higher >> 31);
        }
    }

    /** Makes a buffer open again; all offsets are then to be what they were before. */
    void reopen(int k) {
        ends[k] = model.end[buffers[k]];
        open++;
    }

    /** Adds to the skyline what was placed, in that order, and gives open buffers the first indices. */
    void settle(int[] placed, int count) {
        for (int i = 0; i < count; i++) {
            int buffer = buffers[placed[i]];
            put(skyline, load, model.start[buffer], model.end[buffer], result[buffer], model.size[buffer]);
        }
        compact();
    }

    private static void put(int[] skyline, int[] load, int start, int end, int offset, int size) {
        Arrays.fill(skyline, start, end, offset + size);
        for (int s = start; s < end; s++) {
            load[s] -= size;
        }
    }

    private void compact() {
        int to = 0;
        for (int k = 0; k < length; k++) {
            if (offsets[k] != PLACED) {
                buffers[to] = buffers[k];
                starts[to] = starts[k];
                ends[to] = ends[k];
                sizes[to] = sizes[k];
                offsets[to++] = offsets[k];
            }
        }
        length = to;
    }

    /** Gives the open buffers another order: {@code order[k]} is the index of the one that comes k-th. Call when settled. */
    void arrange(int[] order) {
        permute(buffers, order);
        permute(starts, order);
        permute(ends, order);
        permute(sizes, order);
        permute(offsets, order);
    }

    private void permute(int[] values, int[] order) {
        int[] before = Arrays.copyOf(values, length);
        for (int k = 0; k < length; k++) {
            values[k] = before[order[k]];
        }
    }
}
