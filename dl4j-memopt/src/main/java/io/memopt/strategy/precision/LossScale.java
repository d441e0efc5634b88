// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

/**
 * By what a loss is multiplied so that its gradients fit half precision, whose smallest number is 6e-8 and whose largest is 65 504.
 * It doubles after {@value #GROWS_AFTER} updates in a row whose gradients were finite, and is halved by one whose gradients were not.
 * Always a power of two, so that scaling itself rounds nothing.
 *
 * <p>Dynamic loss scaling is due to P. Micikevicius, S. Narang, J. Alben et al., <i>Mixed Precision Training</i>, ICLR 2018,
 * arXiv:1710.03740. Deeplearning4j's gradients are sums over examples, which is why it may fall below 1.
 *
 * <p>Threading: confined.
 */
final class LossScale {
    /** Gradients of a common loss, which are sums over a minibatch, are finite at it, and few halvings find a lower one. */
    static final double FIRST = 1 << 7;

    static final int GROWS_AFTER = 1000;
    static final double LEAST = 1.0 / (1 << 10);
    static final double MOST = 1 << 24;

    private double value = FIRST;
    private int finite;
    private double markedValue = FIRST;
    private int markedFinite;

    double value() {
        return value;
    }

    /** Remembers the scale, for {@link #rollBack}. */
    void mark() {
        markedValue = value;
        markedFinite = finite;
    }

    void rollBack() {
        value = markedValue;
        finite = markedFinite;
    }

    /** An update came out; {@code finite}: whether all of its gradients were numbers. */
    void learn(boolean allFinite) {
        if (!allFinite) {
            finite = 0;
            value = Math.max(LEAST, value / 2);
        } else if (++finite == GROWS_AFTER) {
            finite = 0;
            value = Math.min(MOST, value * 2);
        }
    }
}
