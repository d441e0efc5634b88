// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Puts the open buffers of a {@link Stack} in order of importance: those first that live where the least waste is allowed.
 *
 * <p>The peak of a buffer is the section of its life with the highest skyline and open bytes together: waste there is what
 * makes the plan higher. Buffers of one peak lie on top of each other without waste, in whatever order. What is born shortly
 * before it, or dies shortly after, is best at the top: there its place joins that of its neighbours, and large buffers find
 * room next to the peak, where there is none to waste. So among those of a peak
 *
 * <pre>
 *   weight = (sections from birth to peak) * (sections from peak to death) * size^0.1
 * </pre>
 *
 * decides. Our own; found by measuring orders on lives between uniform moments.
 *
 * <p>Threading: confined. Cost of an order: O(n log n) for n open buffers, and O(s log s) for s sections. For at most
 * {@value #MOST} buffers.
 */
final class PeakOrder {
    private static final int INDEX_BITS = 12;
    static final int MOST = 1 << INDEX_BITS;

    /** Sizes count little: the largest of the tests' sizes weighs less than three times what the smallest does. */
    private static final double SIZE_POWER = 0.1;

    private final int sections;
    /** Skyline and open bytes of each section. */
    private final int[] bound;
    /** The first highest and the last highest of the 2^level sections from each one on. */
    private final int[][] first;

    private final int[][] last;
    private final float[] sizeWeight;
    private final long[] keys;
    private final int[] order;

    PeakOrder(StackModel model) {
        sections = model.sections;
        bound = new int[sections];
        int levels = Integer.SIZE - Integer.numberOfLeadingZeros(sections);
        first = new int[levels][sections];
        last = new int[levels][sections];
        Arrays.setAll(first[0], s -> s);
        Arrays.setAll(last[0], s -> s);
        sizeWeight = new float[model.count];
        for (int i = 0; i < model.count; i++) {
            sizeWeight[i] = (float) Math.pow(model.size[i], SIZE_POWER);
        }
        keys = new long[model.count];
        order = new int[model.count];
    }

    /**
     * Orders the open buffers.
     *
     * @param noise 0 for none; each weight is multiplied by a random factor around 1 that differs from it by so much at most
     */
    void arrange(Stack stack, double noise, SplittableRandom random) {
        look(stack);
        int open = stack.open();
        for (int k = 0; k < open; k++) {
            int start = stack.starts[k];
            int end = stack.ends[k];
            int level = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(end - start);
            int from = earlier(first[level][start], first[level][end - (1 << level)]);
            int to = later(last[level][start], last[level][end - (1 << level)]);
            float weight = (float) (from - start + 1) * (end - to) * sizeWeight[stack.buffers[k]];
            if (noise > 0) {
                weight *= (float) (1 + noise * (random.nextDouble() * 2 - 1));
            }
            int light = Integer.MAX_VALUE - Float.floatToIntBits(weight);
            keys[k] = (long) (Integer.MAX_VALUE - bound[from]) << 32 | (light & -MOST) | k;
        }
        Arrays.sort(keys, 0, open);
        for (int k = 0; k < open; k++) {
            order[k] = (int) keys[k] & (MOST - 1);
        }
        stack.arrange(order);
    }

    private void look(Stack stack) {
        for (int s = 0; s < sections; s++) {
            bound[s] = stack.skyline[s] + stack.load[s];
        }
        for (int level = 1; level < first.length; level++) {
            int half = 1 << (level - 1);
            for (int s = 0; s + 2 * half <= sections; s++) {
                first[level][s] = earlier(first[level - 1][s], first[level - 1][s + half]);
                last[level][s] = later(last[level - 1][s], last[level - 1][s + half]);
            }
        }
    }

    private int earlier(int a, int b) {
        return bound[b] > bound[a] ? b : a;
    }

    private int later(int a, int b) {
        return bound[b] >= bound[a] ? b : a;
    }
}
