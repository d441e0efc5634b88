// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.List;

/**
 * Buffers placed on a {@link Stack} in one order of importance, each of which can be taken back.
 *
 * <p>Threading: confined. Memory: for each buffer of a round what {@link Stack} and {@link Supports} know of all offsets and
 * sections, made when it is needed first.
 */
final class Round {
    /** The order of importance follows what is placed, but costs as much as twenty buffers. */
    private static final int LENGTH = 66;

    private final StackModel model;
    private final Stack stack;
    private final Supports supports;
    private final int[] placed = new int[LENGTH];
    private final List<int[]> offsets = new ArrayList<>();
    private final List<int[]> sections = new ArrayList<>();
    private int count;

    Round(StackModel model, Stack stack, Supports supports) {
        this.model = model;
        this.stack = stack;
        this.supports = supports;
    }

    /** Begins with a stack that is settled. */
    void begin(int allowed) {
        count = 0;
        supports.begin(allowed);
    }

    /** Number of buffers that can be taken back. */
    int count() {
        return count;
    }

    boolean isFull() {
        return count == LENGTH;
    }

    /** Places what the supports allowed last. */
    void place(int k) {
        if (offsets.size() == count) {
            offsets.add(new int[model.count]);
            sections.add(new int[2 * model.sections]);
        }
        System.arraycopy(stack.offsets, 0, offsets.get(count), 0, stack.length());
        supports.save(sections.get(count));
        placed[count++] = k;
        supports.place(k);
    }

    /** Takes buffers back until so many are left. */
    void back(int left) {
        if (left == count) {
            return;
        }
        while (count > left) {
            stack.reopen(placed[--count]);
        }
        System.arraycopy(offsets.get(left), 0, stack.offsets, 0, stack.length());
        supports.restore(sections.get(left));
    }

    /** Gives up that anything can be taken back. */
    void settle() {
        stack.settle(placed, count);
        count = 0;
    }

    /** Makes another stack a settled copy. */
    void copyTo(Stack other) {
        other.copy(stack);
        other.settle(placed, count);
    }
}
