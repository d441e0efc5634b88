// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A plan that grows from the bottom up, and can go back to where it was. Of the buffers that can come next, i.e. those below
 * which no other one fits any more, it takes the most important one and puts it at the lowest offset above everything placed,
 * as {@link BottomUp} does. The skyline is the top of what is placed, section by section; skyline and open (not yet placed)
 * bytes of a section together are a height that the plan will have at least, and waste is what makes them grow.
 *
 * <p>Threading: confined. Cost of a buffer: O(open buffers + sections), in loops that a compiler turns to vector
 * instructions. No allocation while placing.
 */
final class Stack {
    /** Offset of buffers that are placed; with a size on top still an int. */
    private static final int PLACED = 1 << 30;

    /** Chances are in 1024ths. */
    private static final int CHANCE_BITS = 10;

    /** Where the buffers were put, in grains. */
    final int[] result;
    /** What is known of the open buffers, in order of importance, and of some placed ones in between. */
    final int[] buffers;

    final int[] starts;
    final int[] ends;
    final int[] sizes;
    /** Lowest offsets that are still possible. */
    final int[] offsets;

    final int[] skyline;
    /** Open grains of each section. */
    final int[] load;

    private final StackModel model;
    private int length;
    private int open;
    /** No open buffer ends below this. */
    private int lowestTop;

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
        lowestTop = 0;
        Arrays.fill(skyline, 0);
        System.arraycopy(model.load(some), 0, load, 0, load.length);
    }

    /** Becomes what another one is. */
    void copy(Stack other) {
        length = other.length;
        open = other.open;
        lowestTop = other.lowestTop;
        System.arraycopy(other.result, 0, result, 0, result.length);
        System.arraycopy(other.buffers, 0, buffers, 0, length);
        System.arraycopy(other.starts, 0, starts, 0, length);
        System.arraycopy(other.ends, 0, ends, 0, length);
        System.arraycopy(other.sizes, 0, sizes, 0, length);
        System.arraycopy(other.offsets, 0, offsets, 0, length);
        System.arraycopy(other.skyline, 0, skyline, 0, skyline.length);
        System.arraycopy(other.load, 0, load, 0, load.length);
    }

    /** A height that the plan will have at least; when nothing is open, its height. */
    int bound() {
        int bound = 0;
        for (int s = 0; s < skyline.length; s++) {
            bound = Math.max(bound, skyline[s] + load[s]);
        }
        return bound;
    }

    /** Places the most important buffers until so many are open. */
    void placeTo(int left) {
        placeTo(left, null, 0);
    }

    /**
     * The same, but any buffer may be passed over for a less important one.
     *
     * @param chance of that, in 1024ths
     */
    void placeTo(int left, @Nullable SplittableRandom random, int chance) {
        int next = -1;
        while (open > left) {
            next = next(next + 1, random, chance);
            if (next == length) {
                lowestTop = lowestTop(offsets, sizes, length);
                next = next(0, random, chance);
                next = next < length ? next : next(0, null, 0);
            }
            place(next);
        }
        compact();
    }

    /** Index of the first from there on that can come next and is not passed over, or {@link #length}. */
    private int next(int from, @Nullable SplittableRandom random, int chance) {
        int limit = lowestTop;
        for (int k = from; k < length; k++) {
            if (offsets[k] < limit
                    && (random == null || (random.nextInt() >>> (Integer.SIZE - CHANCE_BITS)) >= chance)) {
                return k;
            }
        }
        return length;
    }

    private void place(int k) {
        int start = starts[k];
        int end = ends[k];
        int size = sizes[k];
        int top = offsets[k] + size;
        result[buffers[k]] = offsets[k];
        offsets[k] = PLACED;
        ends[k] = 0;
        open--;
        for (int s = start; s < end; s++) {
            skyline[s] = top;
            load[s] -= size;
        }
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

    private static int lowestTop(int[] offsets, int[] sizes, int length) {
        int lowest = Integer.MAX_VALUE;
        for (int k = 0; k < length; k++) {
            int top = offsets[k] + sizes[k];
            if (top < lowest) {
                lowest = top;
            }
        }
        return lowest;
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

    /** Gives the open buffers another order: {@code order[k]} is the index of the one that comes k-th. Call after placing. */
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
