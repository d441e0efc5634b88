// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.StepOptions;
import java.util.Optional;

/**
 * How a pass computes gradients: whatever changes what it takes, but for the number of its examples and the reuse of workspaces. A
 * strategy that is one more of these is a component here, a class of exactness, a word in {@link Way#text} and a field of {@link
 * BudgetRow}.
 *
 * @param keep which activations are kept
 * @param keptInFiles whether those are offloaded: to mapped files or, with CUDA, the host
 * @param caching what becomes of the cache mode; only with all activations kept
 * @param precision in which type of numbers
 */
record PassKind(Keep keep, boolean keptInFiles, Caching caching, Precision precision) {

    Exactness exactness() {
        return precision == Precision.AS_CONFIGURED ? Exactness.BITWISE : Exactness.LOSSY;
    }

    boolean mixes() {
        return precision == Precision.MIXED_HALF;
    }

    PassKind with(Keep other) {
        return new PassKind(other, keptInFiles, caching, precision);
    }

    PassKind inFiles() {
        return new PassKind(keep, true, caching, precision);
    }

    PassKind in(Precision other) {
        return new PassKind(keep, keptInFiles, caching, other);
    }

    /** The step that computes whole minibatches by such passes; {@code asked} says where what is offloaded goes. */
    StepOptions step(StepOptions asked) {
        Optional<Offload> where = keptInFiles ? asked.outputOffload() : Optional.empty();
        return new StepOptions(StepOptions.WHOLE, 1, 1, keep.cuts(), precision, Optional.empty(), where);
    }
}
