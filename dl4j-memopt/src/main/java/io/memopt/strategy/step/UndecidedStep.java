// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.SolverAccess;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;

/** Stands in the place of an optimizer until the first minibatch comes. Threading: the training thread. */
final class UndecidedStep extends StochasticGradientDescent {
    private static final long serialVersionUID = 1;

    private final transient BaseOptimizer replaced;
    private final transient Predicate<Model> first;
    private final transient Runnable again;

    /**
     * Hands the first minibatch to {@code first}, which puts another optimizer in this one's place.
     *
     * @param again waits for another minibatch, if the answer was false
     */
    UndecidedStep(BaseOptimizer replaced, Model model, Predicate<Model> first, Runnable again) {
        super(replaced.getConf(), replaced.getStepFunction(), NetworkAccess.listeners(model), model);
        this.replaced = replaced;
        this.first = first;
        this.again = again;
        ControlledStep.hand(replaced, this, model);
    }

    /** The optimizer that was there before. */
    BaseOptimizer restored() {
        ControlledStep.hand(this, replaced, model);
        return replaced;
    }

    @Override
    public boolean optimize(LayerWorkspaceMgr workspaceMgr) {
        boolean done = first.test(model);
        boolean converged = SolverAccess.currentOrNew(model).optimize(workspaceMgr);
        if (!done) {
            again.run();
        }
        return converged;
    }
}
