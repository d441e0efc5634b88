// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Orders for {@link BottomUp}, made by a formula whose parameters a search may vary: those that live at the busiest moments
 * first; among those that live at the peak, first what is born long before it and dies long after it.
 *
 * <p>At the peak all buffers lie on top of each other without waste, in whatever order. What is born shortly before it, or
 * dies shortly after, is best at the top: there its place joins that of its neighbours, and large buffers find room next to
 * the peak, where there is none to waste. Both distances d count, by their mean of power -p:
 *
 * <pre>
 *   weight = (before^-p + after^-p)^(-1/p) * size^a       p small: their product; p large: the smaller one
 * </pre>
 *
 * Others weigh {@code lifetime * size^a}. Our own; found by measuring orders on lives between uniform moments.
 *
 * <p>Threading: confined. Cost of an order: O(n log n). For at most {@value #MOST} buffers.
 */
final class PeakOrder {
    private static final int INDEX_BITS = 16;
    static final int MOST = 1 << INDEX_BITS;

    private final Timeline time;
    private final int count;
    /** 0 for those at the busiest moment, and so on. */
    private final int[] busyRank;

    private final int peak;

    PeakOrder(Timeline time) {
        this.time = time;
        count = time.problem.count();
        busyRank = ranks(Orders.busiest(time));
        long[] load = time.load();
        int at = 0;
        for (int moment = 1; moment < load.length; moment++) {
            at = load[moment] > load[at] ? moment : at;
        }
        peak = at;
    }

    private static int[] ranks(long[] busiest) {
        long[] distinct = Arrays.stream(busiest).distinct().sorted().toArray();
        int[] ranks = new int[busiest.length];
        Arrays.setAll(ranks, i -> distinct.length - 1 - Arrays.binarySearch(distinct, busiest[i]));
        return ranks;
    }

    /**
     * Weights by the formula.
     *
     * @param power p, above 0
     * @param sizePower a, 0 for no regard to sizes
     */
    double[] weights(double power, double sizePower) {
        double[] weights = new double[count];
        for (int i = 0; i < count; i++) {
            int before = peak - time.birth(i) + 1;
            int after = time.death(i) - peak;
            double span = before > 0 && after > 0
                    ? Math.pow(Math.pow(before, -power) + Math.pow(after, -power), -1 / power)
                    : time.death(i) - time.birth(i);
            weights[i] = sizePower == 0 ? span : span * Math.pow((double) time.problem.size(i), sizePower);
        }
        return weights;
    }

    /** The weights, each times a random factor around 1 that differs from it by about {@code noise}. */
    static double[] shaken(double[] weights, double noise, SplittableRandom random) {
        double[] shaken = new double[weights.length];
        Arrays.setAll(shaken, i -> weights[i] * (1 + noise * (random.nextDouble() * 2 - 1)));
        return shaken;
    }

    /** The busiest first, heavier among equals. */
    int[] order(double[] weights) {
        long[] keys = new long[count];
        for (int i = 0; i < count; i++) {
            long light = (long) Integer.MAX_VALUE - Float.floatToIntBits((float) weights[i]);
            keys[i] = (((long) busyRank[i] << 31) | light) << INDEX_BITS | i;
        }
        Arrays.sort(keys);
        int[] order = new int[count];
        Arrays.setAll(order, k -> (int) (keys[k] & (MOST - 1)));
        return order;
    }
}
