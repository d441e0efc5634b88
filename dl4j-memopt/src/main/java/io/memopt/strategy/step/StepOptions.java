// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.precision.Precision;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * How gradients are computed. Values out of range are refused.
 *
 * @param microBatch most examples computed at once, at least 1; {@link #WHOLE} for whole minibatches. Another order of
 *     summation: class of exactness {@code REORDERED}
 * @param accumulate minibatches whose gradients are summed for one update, 1 to {@value #MAX_ACCUMULATE}
 * @param activationShare most bytes of activations to keep, as share of what Deeplearning4j keeps: 0 for as few as possible,
 *     1 for all. The rest is computed again, {@code BITWISE}
 * @param cuts where the layers or vertices are cut, as exclusive end of each segment, ascending, the last one their number; empty
 *     when {@code activationShare} decides
 * @param precision in which type of numbers; other than that of the network is {@code LOSSY}
 * @param stateOffload where the updater's state lies while it is not used, if it is to be elsewhere, {@code BITWISE}
 * @param outputOffload where the outputs that checkpointing keeps lie meanwhile, if they are to be elsewhere, {@code BITWISE}; only with {@code activationShare} below 1
 */
public record StepOptions(
        int microBatch,
        int accumulate,
        double activationShare,
        List<Integer> cuts,
        Precision precision,
        Optional<Offload> stateOffload,
        Optional<Offload> outputOffload) {
    /** Minibatches are computed as they come. */
    public static final int WHOLE = Integer.MAX_VALUE;

    public static final int MAX_ACCUMULATE = 1 << 16;

    /** Deeplearning4j's own step. */
    public static final StepOptions PLAIN = new StepOptions(WHOLE, 1, 1);

    /** In the network's own precision, with everything in memory. */
    public StepOptions(int microBatch, int accumulate, double activationShare, List<Integer> cuts) {
        this(
                microBatch,
                accumulate,
                activationShare,
                cuts,
                Precision.AS_CONFIGURED,
                Optional.empty(),
                Optional.empty());
    }

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
        Objects.requireNonNull(precision, "precision");
        Objects.requireNonNull(stateOffload, "stateOffload");
        Objects.requireNonNull(outputOffload, "outputOffload");
    }

    /** What differs from Deeplearning4j's own step, by the names of the settings. */
    @Override
    public String toString() {
        List<String> set = new ArrayList<>();
        if (microBatch != WHOLE) {
            set.add("microBatch=" + microBatch);
        }
        if (accumulate != 1) {
            set.add("accumulate=" + accumulate);
        }
        if (activationShare != 1) {
            set.add("activationShare=" + activationShare);
        }
        if (!cuts.isEmpty()) {
            set.add("cuts=" + cuts);
        }
        if (precision != Precision.AS_CONFIGURED) {
            set.add("precision=" + precision);
        }
        stateOffload.ifPresent(where -> set.add("offloadUpdaterState=" + where));
        outputOffload.ifPresent(where -> set.add("offloadCheckpoints=" + where));
        return set.isEmpty() ? "plain step" : String.join(", ", set);
    }

    public StepOptions withMicroBatch(int examples) {
        return new StepOptions(examples, accumulate, activationShare, cuts, precision, stateOffload, outputOffload);
    }

    public StepOptions withAccumulate(int minibatches) {
        return new StepOptions(microBatch, minibatches, activationShare, cuts, precision, stateOffload, outputOffload);
    }

    public StepOptions withActivationShare(double share) {
        return new StepOptions(microBatch, accumulate, share, cuts, precision, stateOffload, outputOffload);
    }

    /** Cut as {@link #activationShare} says, by what is measured. */
    public StepOptions withoutCuts() {
        return new StepOptions(
                microBatch, accumulate, activationShare, List.of(), precision, stateOffload, outputOffload);
    }

    public StepOptions withPrecision(Precision value) {
        return new StepOptions(microBatch, accumulate, activationShare, cuts, value, stateOffload, outputOffload);
    }

    public StepOptions withStateOffload(Offload where) {
        return new StepOptions(
                microBatch, accumulate, activationShare, cuts, precision, Optional.of(where), outputOffload);
    }

    public StepOptions withOutputOffload(Offload where) {
        return new StepOptions(
                microBatch, accumulate, activationShare, cuts, precision, stateOffload, Optional.of(where));
    }

    public StepOptions withoutOutputOffload() {
        return new StepOptions(
                microBatch, accumulate, activationShare, cuts, precision, stateOffload, Optional.empty());
    }

    /** Whether minibatches are computed whole and all activations are kept, as far as this goes. */
    public boolean leavesPasses() {
        return microBatch == WHOLE && !checkpoints();
    }

    /** Without cuts of its own. */
    public StepOptions(int microBatch, int accumulate, double activationShare) {
        this(microBatch, accumulate, activationShare, List.of());
    }

    /** Whether gradients are sums of several passes. */
    boolean sums() {
        return microBatch != WHOLE || accumulate > 1;
    }

    /** Whether some activations are computed again. */
    public boolean checkpoints() {
        return activationShare < 1 || !cuts.isEmpty();
    }

    public boolean mixes() {
        return precision == Precision.MIXED_HALF;
    }

    /** Whether updater state or what checkpointing keeps lies elsewhere. */
    public boolean offloads() {
        return stateOffload.isPresent() || outputOffload.isPresent();
    }
}
