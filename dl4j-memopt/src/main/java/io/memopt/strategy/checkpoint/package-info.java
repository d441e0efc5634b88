// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Checkpointing, also known as rematerialisation: only some activations of a network are kept, the others are computed
 * again when the backward pass needs them. {@link io.memopt.strategy.checkpoint.CheckpointedPass} computes gradients that way.
 */
@NullMarked
package io.memopt.strategy.checkpoint;

import org.jspecify.annotations.NullMarked;
