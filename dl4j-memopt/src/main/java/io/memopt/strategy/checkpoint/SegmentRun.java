// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import org.jspecify.annotations.Nullable;

/** One checkpointed forward and backward pass of a network. Threading: confined to the training thread. */
interface SegmentRun {

    /** Computes gradients and score; returns what was measured, null if nothing was to be. */
    @Nullable
    Chain compute();
}
