// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.offload.UpdaterOffload;
import io.memopt.strategy.precision.MixedPass;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import org.deeplearning4j.nn.api.Model;

/**
 * What a decision has to keep to.
 *
 * @param fixed what every way to train takes
 * @param limitBytes the budget
 * @param asked minibatches of one update, a precision if it is not to be that of the network, folders that may be used
 * @param loosest class of exactness of what may be chosen
 */
record Terms(PriceList.Fixed fixed, long limitBytes, StepOptions asked, Exactness loosest) {
    /** Passes that are tried may take so much more than was predicted, one in so many bytes. */
    private static final int MARGIN = 64;

    /**
     * For the minibatch that {@code model} holds.
     *
     * @param keptBytes of arrays that helpers of its layers keep
     * @param stateStays whether the updater's state, which is in memory, is to stay there: it would only move with the next update
     */
    static Terms of(
            Model model,
            boolean guards,
            BudgetOptions options,
            StepOptions asked,
            long limit,
            long keptBytes,
            boolean stateStays) {
        FlatBytes flat = FlatBytes.of(model);
        boolean sums = asked.accumulate() > 1;
        long sum = sums ? flat.gradients() : 0;
        HeldMinibatch held = HeldMinibatch.of(model);
        PriceList.Fixed fixed = new PriceList.Fixed(
                model.batchSize(),
                flat,
                MixedPass.copyBytes(model.numParams()),
                guards ? TrainingSteps.guardBytes(model, flat.updater(), sum) : 0,
                (guards ? TrainingSteps.guardBytes(model, 0, sum) : 0) + stagingBytes(asked, flat),
                held.bytes() + keptBytes,
                partsAllowed(model, options.exactness()),
                asked.stateOffload().isPresent() && flat.updater() > 0 && !stateStays,
                sums,
                held.hasSequences());
        return new Terms(fixed, limit, asked, options.exactness());
    }

    private static long stagingBytes(StepOptions asked, FlatBytes flat) {
        return asked.stateOffload()
                .map(where -> UpdaterOffload.stagingBytes(where, flat.updater()))
                .orElse(0L);
    }

    /** Whether whole minibatches can be computed by passes of {@code kind}. */
    boolean fit(PassKind kind, PassMemory memory) {
        return takes(kind, memory) <= limitBytes;
    }

    /** Bytes of the smallest way to compute whole minibatches by passes of {@code kind}. */
    long takes(PassKind kind, PassMemory memory) {
        return fixed.takesWhole(kind, memory);
    }

    /** Whether passes of a copy in half precision can be tried, which take no more than {@code memory}. */
    boolean haveRoomForCopy(PassMemory memory) {
        return fixed.takesTrial(memory) <= limitBytes - limitBytes / MARGIN;
    }

    /** Whether the precision may be chosen. */
    boolean choosePrecision() {
        return loosest == Exactness.LOSSY && asked.precision() == Precision.AS_CONFIGURED;
    }

    private static boolean partsAllowed(Model model, Exactness loosest) {
        return loosest != Exactness.BITWISE
                && TrainingSteps.refusal(model, new StepOptions(1, 1, 1)).isEmpty();
    }
}
