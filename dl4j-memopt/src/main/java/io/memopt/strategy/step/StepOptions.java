// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.util.List;

/**
 * How gradients are computed. Values out of range are refused.
 *
 * @param microBatch most examples computed at once, at least 1; {@link #WHOLE} for whole minibatches. Another order of
 *     summation: class of exactness {@code REORDERED}
 * @param accumulate minibatches whose gradients are summed for one update, 1 to {@value #MAX_ACCUMULATE}
 * @param activationShare most bytes of activations to keep, as share of what Deeplearning4j keeps: 0 for as few as possible,
 *     1 for all. The rest is computed again, {@code BITWISE}
 * @param cuts where the chain of layers is cut, as exclusive end of each segment, ascending, the last one its length; empty when
 *     {@code activationShare} decides
 */
public record StepOptions(int microBatch, int accumulate, double activationShare, List<Integer> cuts) {
    /** Minibatches are computed as they come. */
    public static final int WHOLE = Integer.MAX_VALUE;

    public static final int MAX_ACCUMULATE = 1 << 16;

    /** Deeplearning4j's own step. */
    public static final StepOptions PLAIN = new StepOptions(WHOLE, 1, 1);

    public StepOptions {
        cuts = List.copyOf(cuts);
        if (microBatch < 1) {
            throw new IllegalArgumentException("microBatch=" + microBatch + ", expected at least 1 example");
        }
        if (accumulate < 1 || accumulate > MAX_ACCUMULATE) {
            throw new IllegalArgumentException(
                    "accumulate=" + accumulate + ", expected 1.." + MAX_ACCUMULATE + " minibatches");
        }
        if (!(activationShare >= 0 && activationShare <= 1)) {
            throw new IllegalArgumentException("activationShare=" + activationShare + ", expected 0..1");
        }
    }

    /** Without cuts of its own. */
    public StepOptions(int microBatch, int accumulate, double activationShare) {
        this(microBatch, accumulate, activationShare, List.of());
    }

    /** Whether gradients are sums of several passes. */
    boolean sums() {
        return microBatch != WHOLE || accumulate > 1;
    }

    boolean checkpoints() {
        return activationShare < 1 || !cuts.isEmpty();
    }
}
