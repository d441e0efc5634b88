// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs iterations so that running out of memory never leaves one half done:
 *
 * <pre>
 *   GRADIENTS  forward and backward pass    undone: random generator, layers, minibatch, score
 *   UPDATE     updater, block by block      undone: the same, and the updater's state from its copy
 *   UPDATED    parameters are changed       completed: counter and constraints; listeners are not called again
 * </pre>
 *
 * Parameters change in one operation at the end of UPDATE, so they need no copy unless constraints follow.
 *
 * <p>Memory: one more copy of the updater state, where the state is, and of the parameters of networks with
 * constraints. Time: those copies.
 *
 * <p>Threading: the training thread of one network.
 */
final class GuardedRun {
    /** Attempts of one iteration, whatever the guard says. */
    static final int MAX_ATTEMPTS = 8;

    private static final int CONSTRAINT_ATTEMPTS = 3;
    private static final Logger log = LoggerFactory.getLogger(GuardedRun.class);

    private final StepGuard guard;
    private final GradientWork work;
    private boolean recovered;
    private final ArrayCopy updaterState;
    private final ArrayCopy parameters = new ArrayCopy();
    private StepStage stage = StepStage.GRADIENTS;
    private boolean hadUpdater;
    private boolean toldUnguarded;

    GuardedRun(StepGuard guard, GradientWork work) {
        this.guard = guard;
        this.work = work;
        this.updaterState = new ArrayCopy(work.stateCopies());
    }

    /** Runs {@code body}, an iteration of {@code step}, until it is done or the guard gives up. */
    boolean run(ControlledStep step, Model model, BooleanSupplier body) {
        for (int attempt = 1; ; attempt++) {
            StepSnapshot before = snapshot(model);
            if (before == null) {
                return body.getAsBoolean();
            }
            long began = System.nanoTime();
            stage = StepStage.GRADIENTS;
            work.mark();
            try {
                boolean result = body.getAsBoolean();
                guard.succeeded(model, attempt);
                return result;
            } catch (RuntimeException | Error e) {
                if (!guard.isExhaustion(e)) {
                    throw e;
                }
                FailedStep failed = new FailedStep(model, e, stage, attempt, work.options(), began);
                if (stage == StepStage.UPDATED) {
                    return completed(before, failed, e);
                }
                undo(before, step);
                Optional<StepOptions> next = attempt < MAX_ATTEMPTS ? guard.failed(failed) : Optional.empty();
                if (next.isEmpty()) {
                    throw e;
                }
                work.repeats(model);
                before.restore(); // what the guard tried may have drawn random numbers
                work.options(next.get(), model);
                recovered = true;
            }
        }
    }

    /** Gradients are known; the updater is about to begin. */
    void updateBegins(@Nullable INDArray state, boolean hasUpdater) {
        hadUpdater = hasUpdater;
        updaterState.take(state);
        stage = StepStage.UPDATE;
    }

    /** Whether iterations are computed in another way since one ran out of memory. */
    boolean hasRecovered() {
        return recovered;
    }

    /** Parameters of {@code model} have been changed. */
    void updated(Model model) {
        stage = StepStage.UPDATED;
        if (Constraints.among(model)) {
            parameters.take(model.params());
        }
    }

    void close() {
        updaterState.close();
        parameters.close();
    }

    private @Nullable StepSnapshot snapshot(Model model) {
        try {
            return new StepSnapshot(model, work.computing(model));
        } catch (IllegalStateException e) {
            if (!toldUnguarded) {
                toldUnguarded = true;
                log.warn("Running out of memory is not guarded against: {}", e.getMessage());
            }
            return null;
        }
    }

    private void undo(StepSnapshot before, ControlledStep step) {
        before.clearWorkspaces();
        work.rollBack();
        if (stage == StepStage.UPDATE) {
            if (hadUpdater) {
                updaterState.restore(step.updaterState());
            } else {
                step.dropUpdater();
            }
        }
        before.restore();
    }

    /** Listeners come before the counter, constraints after it. */
    private boolean completed(StepSnapshot before, FailedStep failed, Throwable failure) {
        before.clearWorkspaces();
        boolean listener = !before.isCounted();
        Model model = failed.model();
        if (listener) {
            BaseOptimizer.incrementIterationCount(model, 1);
        }
        boolean constrained = !Constraints.among(model) || constrain(before, model);
        if (constrained && !listener) {
            guard.succeeded(model, failed.attempt());
            return true;
        }
        guard.failedAfterUpdate(failed);
        if (failure instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) failure;
    }

    private boolean constrain(StepSnapshot before, Model model) {
        INDArray values = Objects.requireNonNull(model.params(), "parameters");
        for (int i = 0; i < CONSTRAINT_ATTEMPTS; i++) {
            parameters.restore(values);
            try {
                BaseOptimizer.applyConstraints(model);
                return true;
            } catch (RuntimeException | Error e) {
                if (!guard.isExhaustion(e)) {
                    throw e;
                }
                before.clearWorkspaces();
                System.gc();
            }
        }
        parameters.restore(values);
        return false;
    }
}
