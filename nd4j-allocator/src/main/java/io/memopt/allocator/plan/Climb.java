// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Builds a {@link Stack} a few buffers at a time, and goes back where that wastes memory.
 *
 * <p>A step places a fortieth of the buffers. If it makes the stack's bound higher than is wanted, it is done again with some
 * buffers passed over at random, and then from one of the states some steps before. Only when all that fails, the least waste
 * that was seen is taken, and the bound is what is allowed from there on.
 *
 * <pre>
 *   state 0 --- 1 --- 2 --- 3 --- 4 -x-        a step from 4 wastes: again, then from 3, 2, ...
 *                      \--- 3'--- 4'--- 5      until one does not
 * </pre>
 *
 * <p>Our own. A stack tells early what its height will be, so that a step costs little and only the bad ones are paid for
 * twice; tries of whole plans, of which each has some bad steps, gain much less from the same time.
 *
 * <p>Threading: confined. Memory: some 40 stacks.
 */
final class Climb {
    /** What {@link #height} answers when there is no plan below the limit, or time is over. */
    static final int NONE = Integer.MAX_VALUE;

    private static final int STEPS = 40;

    /** How often a step that wastes is done again from each of the states that are tried for it. */
    private static final int AGAIN = 5;

    /** States before it that are tried. */
    private static final int MOST_BACK = 4;

    /** Chance of a buffer to be passed over when a step is done again, in 1024ths. */
    private static final int PASSED_OVER = 300;

    /** The order of importance follows what is placed, but costs as much as a step. */
    private static final int STEPS_PER_ORDER = 2;

    private static final double NOISE = 0.1;
    private static final int STEPS_PER_CLOCK = 16;

    private final StackModel model;
    private final Deadline deadline;
    private final PeakOrder orders;
    private final SplittableRandom random = new SplittableRandom(1);
    private final Stack stack;
    /** After the step that wastes, with the least waste seen. */
    private final Stack least;

    private final List<Stack> states = new ArrayList<>();
    /** The bound that was allowed for each state. */
    private final int[] bounds = new int[STEPS + 1];

    private int count;
    private int below;
    private double noise;
    private int steps;
    /** Whether time is over and the rest is placed as it comes. */
    private boolean late;
    /** The state to go on from. */
    private int at;
    /** The step that wastes whatever was tried, known by the state before it; -1 for none. */
    private int bad;
    /** States before that one that were tried. */
    private int back;
    /** Bound of {@link #least}, or {@link #below} when there is none. */
    private int leastBound;

    Climb(StackModel model, Deadline deadline) {
        this.model = model;
        this.deadline = deadline;
        orders = new PeakOrder(model);
        stack = new Stack(model);
        least = new Stack(model);
    }

    /**
     * Places some buffers. When time is over the first call comes to its end by the shortest way, others give up.
     *
     * @param wanted grains that are low enough, so that no time is spent on less
     * @param limit what the height must be below
     * @param first whether orders are those of the formula; else they are shaken by chance
     * @return height in grains, or {@link #NONE}
     */
    int height(int[] some, int wanted, int limit, boolean first) {
        count = some.length;
        below = limit;
        noise = first ? 0 : NOISE;
        late = false;
        at = 0;
        stack.begin(some);
        bad = -1;
        goOn(Math.max(wanted, stack.bound()));
        while (at < STEPS) {
            if (++steps % STEPS_PER_CLOCK == 0 && deadline.passed()) {
                if (!first) {
                    return NONE;
                }
                late = true;
            }
            if (step()) {
                at++;
                goOn(bounds[at - 1]);
            } else if (!goBack() && !takeLeast()) {
                return NONE;
            }
        }
        return bounds[STEPS];
    }

    /** Where the last call put its buffers, in grains. */
    int[] offsets() {
        return stack.result;
    }

    /** Keeps the state that was reached. */
    private void goOn(int bound) {
        if (at > bad) {
            bad = -1;
            back = 0;
            leastBound = below;
            if (at % STEPS_PER_ORDER == 0) {
                orders.arrange(stack, noise, random);
            }
        }
        if (states.size() == at) {
            states.add(new Stack(model));
        }
        states.get(at).copy(stack);
        bounds[at] = bound;
    }

    /** Whether the next step was possible without waste. */
    private boolean step() {
        int left = (int) ((long) count * (STEPS - at - 1) / STEPS);
        for (int k = bad < 0 ? 0 : 1; k <= AGAIN; k++) {
            if (k == 0) {
                stack.placeTo(left);
            } else {
                stack.copy(states.get(at));
                stack.placeTo(left, random, PASSED_OVER);
            }
            int bound = stack.bound();
            if (bound <= bounds[at]) {
                return true;
            }
            if ((bad < 0 || at == bad) && bound < leastBound) {
                least.copy(stack);
                leastBound = bound;
            }
            if (late) {
                return false;
            }
        }
        return false;
    }

    private boolean goBack() {
        bad = bad < 0 ? at : bad;
        if (late || back == MOST_BACK || bad - 1 - back < 0) {
            return false;
        }
        back++;
        at = bad - back;
        return true;
    }

    /** Goes on with the least waste; false when it is too much. */
    private boolean takeLeast() {
        if (leastBound == below) {
            return false;
        }
        stack.copy(least);
        at = bad + 1;
        goOn(leastBound);
        return true;
    }
}
