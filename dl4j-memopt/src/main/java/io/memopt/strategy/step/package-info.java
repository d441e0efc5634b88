// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The training step. {@link io.memopt.strategy.step.TrainingSteps} puts an optimizer of ours into the solver of a network, which
 * computes gradients in parts, gathers them over minibatches, or keeps only some activations, and otherwise does bit for bit
 * what Deeplearning4j does.
 */
@NullMarked
package io.memopt.strategy.step;

import org.jspecify.annotations.NullMarked;
