// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.precision.Precision;
import java.util.List;
import java.util.Objects;

/**
 * One way to train and what it is predicted to take.
 *
 * @param strategy in words
 * @param reuse of workspaces
 * @param cuts exclusive ends of the segments of layers that checkpointing computes again; empty when all activations are kept
 * @param keptInFiles whether the outputs of those segments are offloaded: to mapped files or, with CUDA, the host
 * @param caching what becomes of the network's cache mode
 * @param precision in which type of numbers gradients are computed
 * @param parts that a minibatch is computed in, 1 for whole minibatches
 * @param stateInFile whether the updater's state is offloaded, likewise
 * @param scratchBytes most scratch memory that a pass of a convolution may take, see {@code Convolutions}; -1 where none is taken at all
 * @param scratchAloneBytes most of it that may lie beside workspaces or arena
 * @param exactness what it does to results, relative to convolutions as an engine computes them with so much scratch memory
 * @param peakBytes most bytes at once, see {@link BudgetReport} for what counts
 * @param stepMillis time of an iteration
 */
public record BudgetRow(
        String strategy,
        Reuse reuse,
        List<Integer> cuts,
        boolean keptInFiles,
        Caching caching,
        Precision precision,
        int parts,
        boolean stateInFile,
        long scratchBytes,
        long scratchAloneBytes,
        Exactness exactness,
        long peakBytes,
        double stepMillis) {
    public BudgetRow {
        cuts = List.copyOf(cuts);
        Objects.requireNonNull(caching, "caching");
        Objects.requireNonNull(precision, "precision");
    }
}
