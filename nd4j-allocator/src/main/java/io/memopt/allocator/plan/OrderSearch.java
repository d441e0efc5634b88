// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Tries orders for {@link BottomUp} that {@link PeakOrder}'s formula gives with random parameters. For parts that are too
 * large for the exact search to be soon done. Fresh parameters for each try came closer to the bound, with lives between
 * uniform moments and some twelve tries in 50 ms, than moving buffers of the best order so far.
 *
 * <p>Repeatable: the random parameters are always the same. Cost: {@value #TRIES} plans at most, many of them given up early.
 */
final class OrderSearch {
    /** Of fewer buffers the exact search makes more. */
    static final int LEAST_BUFFERS = 512;

    private static final int TRIES = 64;
    /** Powers of the mean of distances are between the inverse of this and this, 1 in the middle. */
    private static final double MOST_POWER = 3;
    /** Sizes count little: at 0.08 the largest of the tests' sizes weighs about twice what the smallest does. */
    private static final double MOST_SIZE_POWER = 0.08;

    private static final double NOISE = 0.02;

    private OrderSearch() {}

    /**
     * Looks for a plan lower than {@code height}.
     *
     * @param goal height that is enough
     * @return the lowest found; null when none is lower than {@code height}
     */
    static long @Nullable [] plan(Timeline time, long height, long goal, Deadline deadline) {
        SplittableRandom random = new SplittableRandom(1);
        PeakOrder orders = new PeakOrder(time);
        double[] weights = orders.weights(1, 0);
        long lowest = height;
        long[] plan = null;
        for (int i = 0; i < TRIES && lowest > goal && !deadline.passed(); i++) {
            long[] found = BottomUp.plan(time, orders.order(weights), lowest - 1);
            if (found != null) {
                plan = found;
                lowest = Part.top(time, found);
            }
            weights = random(orders, random);
        }
        return plan;
    }

    private static double[] random(PeakOrder orders, SplittableRandom random) {
        double power = Math.pow(MOST_POWER, random.nextDouble() * 2 - 1);
        double sizePower = MOST_SIZE_POWER * random.nextDouble();
        return PeakOrder.shaken(orders.weights(power, sizePower), NOISE, random);
    }
}
