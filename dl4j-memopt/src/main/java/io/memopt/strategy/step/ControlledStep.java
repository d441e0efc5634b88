// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.GradientPass;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.SolverAccess;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Deeplearning4j's gradient descent with gradients that {@link GradientWork} computes. Update, step, constraints, counters and
 * the order of callbacks are Deeplearning4j's own.
 *
 * <p>Threading: as the optimizer that it stands in for, the training thread.
 */
final class ControlledStep extends StochasticGradientDescent implements GradientPass {
    private static final long serialVersionUID = 1;

    private final transient BaseOptimizer replaced;
    private final transient GradientWork work;
    private final transient @Nullable GuardedRun guarded;
    private final transient ArrivingMinibatch arriving;
    private transient boolean applies;

    /**
     * Stands in for {@code replaced}, with its updater, step function and gradient accumulator.
     *
     * @param guarded undoes iterations that run out of memory; null for none
     * @param arriving hears of each minibatch
     */
    ControlledStep(
            BaseOptimizer replaced,
            Model model,
            GradientWork work,
            @Nullable GuardedRun guarded,
            ArrivingMinibatch arriving) {
        super(replaced.getConf(), stepFunction(replaced, model, guarded), NetworkAccess.listeners(model), model);
        this.replaced = replaced;
        this.work = work;
        this.guarded = guarded;
        this.arriving = arriving;
        hand(replaced, this, model);
    }

    private static StepFunction stepFunction(BaseOptimizer replaced, Model model, @Nullable GuardedRun guarded) {
        StepFunction step = replaced.getStepFunction();
        return guarded == null ? step : new MarkingStep(step, () -> guarded.updated(model));
    }

    /** The optimizer that was there before, with what has been learnt since. */
    BaseOptimizer restored() {
        work.close();
        hand(this, replaced, model);
        replaced.setListeners(trainingListeners);
        return replaced;
    }

    /** Gives {@code to} the updater and the gradient accumulator of {@code from}. */
    static void hand(ConvexOptimizer from, ConvexOptimizer to, Model model) {
        to.setGradientsAccumulator(from.getGradientsAccumulator());
        if (model instanceof ComputationGraph) {
            to.setUpdaterComputationGraph(from.getComputationGraphUpdater(false));
        } else {
            to.setUpdater(from.getUpdater(false));
        }
    }

    @Override
    public boolean optimize(LayerWorkspaceMgr workspaceMgr) {
        boolean settled = work.pending() == 0 && (guarded == null || !guarded.hasRecovered());
        if (settled && arriving.replacesStep(model)) {
            return SolverAccess.currentOrNew(model).optimize(workspaceMgr);
        }
        return guardedly(() -> step(workspaceMgr));
    }

    /** Updates that come from elsewhere, through an accumulator, cannot be undone here. */
    private boolean guardedly(BooleanSupplier iteration) {
        GuardedRun run = guarded;
        if (run == null || getGradientsAccumulator() != null) {
            return iteration.getAsBoolean();
        }
        return run.run(this, model, iteration);
    }

    private boolean step(LayerWorkspaceMgr workspaceMgr) {
        arriving.arrives(model);
        if (work.gathersMore(model)) {
            work.gather(model);
            return true;
        }
        return super.optimize(workspaceMgr);
    }

    /** One iteration with the gradients gathered so far; none may be missing and no workspace may be open. */
    void apply() {
        applies = true;
        try {
            guardedly(() -> super.optimize(LayerWorkspaceMgr.noWorkspaces()));
        } finally {
            applies = false;
        }
    }

    @Override
    public Pair<Gradient, Double> gradientAndScore(LayerWorkspaceMgr workspaceMgr) {
        oldScore = score;
        int examples = applies ? work.finish(model) : work.compute(model);
        tellListeners();
        Pair<Gradient, Double> pair = model.gradientAndScore();
        score = pair.getSecond();
        if (work.accepts(model)) {
            work.prepare(this, model);
            if (guarded != null) {
                guarded.updateBegins(updaterState(), hasUpdater());
            }
            work.update(
                    model,
                    workspaceMgr,
                    workspaces -> updateGradientAccordingToParams(pair.getFirst(), model, examples, workspaces));
        } else {
            model.getGradientsViewArray().assign(0);
        }
        return pair;
    }

    /** Made if there is none. */
    BaseMultiLayerUpdater<?> currentUpdater() {
        return model instanceof ComputationGraph
                ? getComputationGraphUpdater(true)
                : (BaseMultiLayerUpdater<?>) getUpdater(true);
    }

    boolean hasUpdater() {
        return model instanceof ComputationGraph ? computationGraphUpdater != null : updater != null;
    }

    /** Updates by {@code made} from now on. */
    void updater(BaseMultiLayerUpdater<?> made) {
        if (made instanceof ComputationGraphUpdater its) {
            setUpdaterComputationGraph(its);
        } else {
            setUpdater(made);
        }
    }

    /** One flat array; null when the updater has none, or is not made yet. */
    @Nullable
    INDArray updaterState() {
        if (model instanceof ComputationGraph) {
            return computationGraphUpdater == null ? null : computationGraphUpdater.getStateViewArray();
        }
        return updater == null ? null : updater.getStateViewArray();
    }

    /** The next iteration makes it anew, from its initial state. */
    void dropUpdater() {
        updater = null;
        computationGraphUpdater = null;
    }

    private void tellListeners() {
        if (trainingListeners != null && !trainingListeners.isEmpty()) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                for (TrainingListener listener : trainingListeners) {
                    listener.onGradientCalculation(model);
                }
            }
        }
    }

    @Override
    public void computeGradients() {
        work.pass(model);
    }

    @Override
    public String way() {
        return work.way();
    }
}
