// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Plans in two parts, again and again: the buffers of large areas by a {@link Climb}, then the others, which have a small
 * share of all bytes, into the holes that it left. For parts that are too large for the exact search to be soon done.
 *
 * <p>Holes at the peak are mostly larger than a small buffer. Where sizes spread over several powers of ten a third of the
 * buffers has half a per cent of the bytes: without them the climb may waste as much as they need, and takes half the time.
 * Tries are made with other random orders, each content with what leaves the plan above the bound by as much as the best so
 * far is.
 *
 * <p>Repeatable: the random choices are always the same. Cost: {@value #TRIES} tries at most.
 */
final class StackSearch {
    /** Of fewer buffers the exact search makes more. */
    static final int LEAST_BUFFERS = 512;

    private static final int TRIES = 64;
    /** Share of all bytes that the small buffers have. */
    private static final double SHARE = 0.005;
    /** How far above the bound of the large buffers the climb may end, as shares of the bound of all. */
    private static final double LEAST_EXCESS = 0.0005;

    private static final double MOST_EXCESS = 0.005;

    private final Timeline time;
    private final StackModel model;
    private final Climb climb;
    private final int[] byLoad;

    private StackSearch(Timeline time, StackModel model, Deadline deadline) {
        this.time = time;
        this.model = model;
        climb = new Climb(model, deadline);
        byLoad = byLoad();
    }

    /**
     * Looks for a plan lower than {@code height}.
     *
     * @param goal height that is enough
     * @return the lowest found; null when none is lower than {@code height}
     */
    static long @Nullable [] plan(Timeline time, long height, long goal, Deadline deadline) {
        StackModel model = StackModel.of(time);
        if (model == null) {
            return null;
        }
        StackSearch search = new StackSearch(time, model, deadline);
        long lowest = height;
        long[] plan = null;
        for (int i = 0; i < TRIES && lowest > goal && !deadline.passed(); i++) {
            long[] found = search.next(lowest, i == 0);
            if (found != null) {
                plan = found;
                lowest = Part.top(time, found);
            }
        }
        return plan;
    }

    private long @Nullable [] next(long lowest, boolean first) {
        int below = (int) Math.min(Climb.NONE - 1, (lowest - 1) / model.grain + 1);
        double excess = (double) below / model.lower - 1;
        double allowed = Math.max(LEAST_EXCESS, Math.min(MOST_EXCESS, excess));
        int[] large = model.allBut(SHARE);
        int wanted = (int) (model.lower * (1 - SHARE + allowed));
        return climb.height(large, wanted, below, first) == Climb.NONE ? null : filled(large, lowest);
    }

    /** As {@link Orders#byLoad}, but quicker, and in whole grains. */
    private int[] byLoad() {
        long[] busiest = Orders.busiest(time);
        long[] keys = new long[model.count];
        for (int i = 0; i < model.count; i++) {
            long calm = model.lower - busiest[i] / model.grain;
            int brief = PeakOrder.MOST - (model.end[i] - model.start[i]);
            keys[i] = (calm * PeakOrder.MOST + brief) * PeakOrder.MOST + i;
        }
        Arrays.sort(keys);
        int[] order = new int[model.count];
        Arrays.setAll(order, k -> (int) (keys[k] & (PeakOrder.MOST - 1)));
        return order;
    }

    /** The plan of the climb with all other buffers in it; null when one of them ends above what is known. */
    private long @Nullable [] filled(int[] large, long lowest) {
        long[] offsets = new long[model.count];
        boolean[] placed = new boolean[model.count];
        FirstFit fit = new FirstFit(time);
        long[] keys = new long[large.length];
        for (int k = 0; k < large.length; k++) {
            keys[k] = (long) climb.offsets()[large[k]] << 32 | large[k];
        }
        Arrays.sort(keys);
        for (long key : keys) {
            int buffer = (int) key;
            placed[buffer] = true;
            offsets[buffer] = (key >>> 32) * model.grain;
            fit.put(buffer, offsets[buffer]);
        }
        for (int buffer : byLoad) {
            if (!placed[buffer]) {
                offsets[buffer] = fit.place(buffer);
                if (offsets[buffer] + time.problem.size(buffer) >= lowest) {
                    return null;
                }
            }
        }
        return offsets;
    }
}
