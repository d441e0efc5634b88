// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import java.util.List;

/**
 * One way to train and what it is predicted to take.
 *
 * @param strategy in words
 * @param reuse of workspaces
 * @param cuts exclusive ends of the segments of layers that checkpointing computes again; empty when all activations are kept
 * @param parts that a minibatch is computed in, 1 for whole minibatches
 * @param exactness what it does to results
 * @param peakBytes most bytes at once, see {@link BudgetReport} for what counts
 * @param stepMillis time of an iteration
 */
public record BudgetRow(
        String strategy,
        Reuse reuse,
        List<Integer> cuts,
        int parts,
        Exactness exactness,
        long peakBytes,
        double stepMillis) {
    public BudgetRow {
        cuts = List.copyOf(cuts);
    }
}
