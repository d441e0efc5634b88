// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.step.HeldMinibatch;
import java.util.Arrays;
import java.util.OptionalDouble;

/** A decision that is in effect, the minibatch that it was made for, and what comes of it. Threading: safe. */
final class BudgetOutcome implements AutoCloseable {
    /** Iterations that the actual time is the median of. */
    private static final int KEPT = 256;
    /** The first iteration makes the updater's state, and its begin lies before the decision. */
    private static final int UNTIMED = 2;

    private static final double NANOS_PER_MILLI = 1e6;

    private final BudgetReport decided;
    private final Way way;
    private final long trialBytes;
    private final ActualPeak actual;
    private final long minibatchBytes;
    private final String minibatchShapes;
    private final long[] stepNanos = new long[KEPT];
    private int iterations;

    /**
     * For {@code minibatch}.
     *
     * @param trialBytes most while passes with a few examples were tried for it, without the updater's state
     * @param actual closed with this
     */
    BudgetOutcome(BudgetReport decided, HeldMinibatch minibatch, long trialBytes, ActualPeak actual) {
        this.decided = decided;
        this.way = Way.of(decided.chosen());
        this.trialBytes = trialBytes;
        this.actual = actual;
        this.minibatchBytes = minibatch.bytes();
        this.minibatchShapes = minibatch.shapes();
    }

    /** Without what came of it. */
    BudgetReport decided() {
        return decided;
    }

    Way way() {
        return way;
    }

    boolean isLarger(HeldMinibatch minibatch) {
        return minibatch.bytes() > minibatchBytes;
    }

    /** Bytes that passes with a few examples of {@code minibatch} take at least for another decision, beside {@code state} of the updater. */
    long trialBytes(HeldMinibatch minibatch, long state) {
        return trialBytes + state + minibatch.bytes() - minibatchBytes;
    }

    /** Whether {@code minibatch} has no larger examples than the one that was decided for. */
    boolean hasSmallExamples(HeldMinibatch minibatch) {
        return minibatch.bytes() * decided.batch() <= minibatchBytes * minibatch.rows();
    }

    String minibatchShapes() {
        return minibatchShapes;
    }

    synchronized void iterationEnded(long nanos) {
        if (iterations >= UNTIMED) {
            stepNanos[(iterations - UNTIMED) % KEPT] = nanos;
        }
        iterations++;
        actual.iterationEnded();
    }

    synchronized boolean hasTrained() {
        return iterations > 0;
    }

    /** What was reserved since the last iteration is not training's. */
    void iterationBegins() {
        actual.iterationBegins();
    }

    /** A pass outside training is over. */
    void passEnded() {
        actual.passEnded();
    }

    /** Most bytes of an iteration that took more than the budget; 0 if none did. */
    long exceedingBytes() {
        long peak = actual.bytes().orElse(0);
        return peak > decided.limitBytes() ? peak : 0;
    }

    /** With what came of it so far. */
    synchronized BudgetReport report() {
        return new BudgetReport(
                decided.asked(),
                decided.limitBytes(),
                decided.batch(),
                decided.plain(),
                decided.chosen(),
                decided.front(),
                decided.decidingBytes(),
                decided.decidingMillis(),
                decided.remembered(),
                actual.bytes(),
                medianMillis());
    }

    private OptionalDouble medianMillis() {
        int known = Math.min(iterations - UNTIMED, KEPT);
        if (known <= 0) {
            return OptionalDouble.empty();
        }
        long[] sorted = Arrays.copyOf(stepNanos, known);
        Arrays.sort(sorted);
        return OptionalDouble.of(sorted[known / 2] / NANOS_PER_MILLI);
    }

    /** Watches no more. */
    @Override
    public void close() {
        actual.close();
    }
}
