// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Builds a {@link Stack} buffer by buffer without waste, and goes back where it cannot go on.
 *
 * <p>Of the buffers that can come next it takes the most important one that leaves a support to each section (see {@link
 * Supports}). Where none does, some buffers are taken back and others placed, each passed over with some chance; first one, and
 * more with each time that this leads nowhere, up to those of the {@link Round} before. When all that fails, the least waste
 * that was seen is taken, and what is allowed grows by that.
 *
 * <pre>
 *   ... 401 402 403 404 405 -x-             nothing can come next: 405 again, 404 again, 403, 402, 400, ...
 *                \- 404'405'406'407'...     until it goes on beyond
 * </pre>
 *
 * <p>Our own. Where several sections are about as busy as the busiest one, buffers that live in two of them need their
 * skylines to be level; which of the last few buffers make them so is a question of sums, which no order of importance
 * answers, and a few tries mostly do.
 *
 * <p>Threading: confined. Memory: some 20 stacks and a round.
 */
final class Climb {
    /** What {@link #height} answers when there is no plan below the limit, or time is over. */
    static final int NONE = Integer.MAX_VALUE;

    /** Buffers to take back, time after time. */
    private static final int[] BACK = {1, 2, 3, 5, 8, 13, 21, 34};

    /** Beyond that many the round before is taken back when this one has not so many. */
    private static final int FAR = 20;

    /** Chance of a buffer to be passed over when others are to be placed, in 1024ths. */
    private static final int PASSED_OVER = 300;

    private static final int CHANCE_BITS = 10;

    /** How many of the most important buffers are asked for their waste. */
    private static final int ASKED = 5;

    private static final double NOISE = 0.1;
    private static final int CHOICES_PER_CLOCK = 128;
    private static final int NOBODY = -1;

    private final StackModel model;
    private final Deadline deadline;
    private final PeakOrder orders;
    private final SplittableRandom random = new SplittableRandom(1);
    private final Stack stack;
    private final Supports supports;
    private final Round round;
    /** As each round found it. */
    private final List<Stack> bases = new ArrayList<>();

    /** What had the least waste where it could not go on. */
    private final Stack least;

    private int leastBase;
    private int leastBuffer;
    private int leastWaste;
    /** Open buffers where it could not go on; {@link #NOBODY} when it goes on. */
    private int stuck;

    private int tries;
    private int base;
    private double noise;
    private int choices;

    Climb(StackModel model, Deadline deadline) {
        this.model = model;
        this.deadline = deadline;
        orders = new PeakOrder(model);
        stack = new Stack(model);
        least = new Stack(model);
        supports = new Supports(model, stack);
        round = new Round(model, stack, supports);
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
        noise = first ? 0 : NOISE;
        stuck = NOBODY;
        stack.begin(some);
        base = 0;
        beginRound(wanted);
        while (stack.open() > 0 && supports.allowed() < limit) {
            if (++choices % CHOICES_PER_CLOCK == 0 && deadline.passed()) {
                return first ? finish(limit) : NONE;
            }
            goOn();
        }
        round.settle();
        return stack.open() == 0 && stack.bound() < limit ? stack.bound() : NONE;
    }

    /** Where the last call put its buffers, in grains. */
    int[] offsets() {
        return stack.result;
    }

    private int finish(int limit) {
        round.settle();
        int[] placed = new int[1];
        while (stack.open() > 0) {
            placed[0] = next(stack.lowestTop(), 0);
            stack.place(placed[0]);
            stack.settle(placed, 1);
        }
        return stack.bound() < limit ? stack.bound() : NONE;
    }

    private void goOn() {
        if (round.isFull()) {
            round.settle();
            base++;
            beginRound(supports.allowed());
        }
        if (stack.open() < stuck) {
            stuck = NOBODY;
        }
        int k = choose(stuck == NOBODY ? 0 : PASSED_OVER);
        if (k != NOBODY) {
            round.place(k);
            return;
        }
        if (stuck == NOBODY) {
            stuck = stack.open();
            tries = 0;
            leastWaste = Integer.MAX_VALUE;
        }
        keepLeast();
        if (tries == BACK.length) {
            takeLeast();
        } else {
            goBack(BACK[tries++]);
        }
    }

    private void beginRound(int allowed) {
        orders.arrange(stack, noise, random);
        beginRoundAsItIs(allowed);
    }

    private void beginRoundAsItIs(int allowed) {
        if (bases.size() == base) {
            bases.add(new Stack(model));
        }
        bases.get(base).copy(stack);
        round.begin(allowed);
    }

    /** The most important buffer that can come next and wastes nothing, of those that are not passed over. */
    private int choose(int chance) {
        int lowestTop = stack.lowestTop();
        boolean asked = false;
        for (int k = next(lowestTop, 0); k < stack.length(); k = next(lowestTop, k + 1)) {
            if (chance == 0 || random.nextInt() >>> (Integer.SIZE - CHANCE_BITS) >= chance) {
                asked = true;
                if (supports.allow(k)) {
                    return k;
                }
            }
        }
        return asked || chance == 0 ? NOBODY : choose(0);
    }

    /** Index of the first from there on that can come next, or the length of the stack. */
    private int next(int lowestTop, int from) {
        int k = from;
        while (k < stack.length() && stack.offsets[k] >= lowestTop) {
            k++;
        }
        return k;
    }

    /** Keeps the state with the buffer that wastes least, if nothing wasted less so far. */
    private void keepLeast() {
        int lowestTop = stack.lowestTop();
        int best = NOBODY;
        int k = next(lowestTop, 0);
        for (int i = 0; i < ASKED && k < stack.length() && stack.open() <= stuck; i++) {
            int waste = supports.waste(k);
            if (waste < leastWaste) {
                leastWaste = waste;
                best = k;
            }
            k = next(lowestTop, k + 1);
        }
        if (best != NOBODY) {
            leastBuffer = stack.buffers[best];
            leastBase = base;
            round.copyTo(least);
        }
    }

    private void takeLeast() {
        stack.copy(least);
        base = leastBase;
        beginRoundAsItIs(supports.allowed() + leastWaste);
        int k = stack.indexOf(leastBuffer);
        while (!supports.allow(k)) {
            supports.raise(supports.waste(k));
        }
        round.place(k);
        stuck = NOBODY;
    }

    private void goBack(int buffers) {
        if (buffers <= round.count()) {
            round.back(round.count() - buffers);
        } else if (buffers > FAR && base > 0) {
            base--;
            stack.copy(bases.get(base));
            round.begin(supports.allowed());
        } else {
            round.back(0);
        }
    }
}
