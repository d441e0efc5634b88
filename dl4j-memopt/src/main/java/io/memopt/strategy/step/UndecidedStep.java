// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.SolverAccess;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;

/** Stands in the place of an optimizer until the first minibatch comes. Threading: the training thread. */
final class UndecidedStep extends StochasticGradientDescent {
    private static final long serialVersionUID = 1;

    private final transient BaseOptimizer replaced;
    private final transient Consumer<Model> first;

    /** Hands the first minibatch to {@code first}, which puts another optimizer in this one's place. */
    UndecidedStep(BaseOptimizer replaced, Model model, Consumer<Model> first) {
        super(replaced.getConf(), replaced.getStepFunction(), NetworkAccess.listeners(model), model);
        this.replaced = replaced;
        this.first = first;
        ControlledStep.hand(replaced, this, model);
    }

    /** The optimizer that was there before. */
    BaseOptimizer restored() {
        ControlledStep.hand(this, replaced, model);
        return replaced;
    }

    @Override
    public boolean optimize(LayerWorkspaceMgr workspaceMgr) {
        first.accept(model);
        return SolverAccess.currentOrNew(model).optimize(workspaceMgr);
    }
}
