// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.listeners.training.TrainingTracker;
import org.deeplearning4j.nn.api.Model;

/**
 * Passes as a training step with some options computes them, without such a step: to learn what they take. Parts, sums and the
 * updater are left out.
 *
 * <p>Threading: the training thread.
 */
public final class StepPass implements AutoCloseable {
    private final Model model;
    private final GradientWork work;

    /** Of {@code model}, which can be trained by {@code options}; see {@link TrainingSteps#refusal}. */
    public StepPass(Model model, StepOptions options, TrainingTracker tracker) {
        this.model = model;
        this.work = new GradientWork(options, tracker, model);
    }

    /** Computes gradients and score of the minibatch that the network holds. */
    public void compute() {
        work.pass(model);
    }

    /** Gives back what passes kept. */
    @Override
    public void close() {
        work.close();
    }
}
