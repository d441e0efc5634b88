// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * What was decided for a budget, what else there was, and what came of it.
 *
 * <p><b>What counts.</b> Bytes that ND4J reserves for training this network, as the ledger counts them: parameters, gradients,
 * updater state, one minibatch with labels and masks, workspace blocks and arenas with what lies beside them, and detached arrays
 * that a pass makes. What does not: the Java heap, temporaries inside native operations and other native memory, other minibatches
 * that the program or a prefetching iterator holds, and results of inference. The actual peak is that of iterations in the way that
 * was chosen: neither the decision nor what was there before it counts, nor arrays of the program, scalars, and workspaces of threads
 * that do not train the network.
 *
 * @param asked what the budget was given as
 * @param limitBytes the budget
 * @param batch examples of the minibatch that was decided for; smaller ones need less
 * @param plain Deeplearning4j's own way, as predicted; its garbage, if it leaves any, comes on top
 * @param chosen what is in effect
 * @param front ways of which none is better in both memory and time, least memory first
 * @param decidingBytes most bytes while it was decided
 * @param decidingMillis time that it took
 * @param remembered whether the choice is that of an earlier run
 * @param actualPeakBytes most bytes of the iterations since it was decided; empty before the first
 * @param actualStepMillis median of the latest iterations; empty before the third
 */
public record BudgetReport(
        String asked,
        long limitBytes,
        int batch,
        BudgetRow plain,
        BudgetRow chosen,
        List<BudgetRow> front,
        long decidingBytes,
        double decidingMillis,
        boolean remembered,
        OptionalLong actualPeakBytes,
        OptionalDouble actualStepMillis) {
    public BudgetReport {
        front = List.copyOf(front);
    }

    /** A table for people. */
    @Override
    public String toString() {
        return BudgetText.of(this);
    }
}
