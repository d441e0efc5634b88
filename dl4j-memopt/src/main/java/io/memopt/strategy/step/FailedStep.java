// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import org.deeplearning4j.nn.api.Model;

/**
 * An iteration that ran out of memory. Its effects are undone, or, from {@link StepStage#UPDATED} on, it was completed.
 *
 * @param model the network; it holds the minibatch
 * @param failure what was thrown
 * @param stage how far it had come
 * @param attempt 1 for the first
 * @param options by which gradients were computed
 * @param beganNanos {@link System#nanoTime()} when this attempt began
 */
public record FailedStep(
        Model model, Throwable failure, StepStage stage, int attempt, StepOptions options, long beganNanos) {}
