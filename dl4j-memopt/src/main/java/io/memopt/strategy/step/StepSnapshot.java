// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.PassState;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What an iteration begins with, but for parameters and updater state: random generator, layers, minibatch, score, counters, the
 * current workspace. Cheap: no array of Deeplearning4j's own is copied.
 */
final class StepSnapshot {
    private final Model model;
    private final List<PassState> passes;
    private final HeldMinibatch minibatch;
    private final double score;
    private final int iteration;
    private final @Nullable MemoryWorkspace workspace;

    /**
     * The state now.
     *
     * @param computing {@code model}, and whatever computes for it
     *
     * @throws IllegalStateException if that of the layers cannot be told
     */
    StepSnapshot(Model model, List<Model> computing) {
        this.model = model;
        this.passes = new ArrayList<>(computing.size());
        for (Model each : computing) {
            passes.add(PassState.of(each));
        }
        this.minibatch = HeldMinibatch.of(model);
        this.score = model.score();
        this.iteration = BaseOptimizer.getIterationCount(model);
        this.workspace = Nd4j.getMemoryManager().getCurrentWorkspace();
    }

    /** Whether the iteration has been counted since. */
    boolean isCounted() {
        return BaseOptimizer.getIterationCount(model) != iteration;
    }

    /** Leaves and destroys the workspaces of the pass. */
    void clearWorkspaces() {
        NetworkScopes.clear(workspace);
    }

    void restore() {
        passes.forEach(PassState::restore);
        minibatch.restore();
        NetworkAccess.score(model, score);
    }
}
