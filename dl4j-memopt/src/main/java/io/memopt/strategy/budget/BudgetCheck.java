// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Which networks can have a budget. Threading: stateless. */
public final class BudgetCheck {
    private BudgetCheck() {}

    /**
     * Refuses networks of which no budget can be kept, or that cannot be trained as is asked for beside it.
     *
     * @throws IllegalArgumentException with the setting that stands in the way
     */
    public static void check(Model model, BudgetOptions options, StepOptions asked) {
        TrainingSteps.checkBesideBudget(model, asked);
        String why = refusal(model);
        if (!why.isEmpty()) {
            throw new IllegalArgumentException("budget=" + options + " but the network " + why);
        }
    }

    private static String refusal(Model model) {
        boolean layers = model instanceof MultiLayerNetwork;
        BackpropType backprop = layers
                ? ((MultiLayerNetwork) model).getLayerWiseConfigurations().getBackpropType()
                : ((ComputationGraph) model).getConfiguration().getBackpropType();
        if (backprop != BackpropType.Standard) {
            return "is trained by " + backprop
                    + ", expected Standard: what segments of a sequence take cannot be told from a few examples";
        }
        WorkspaceMode mode = layers
                ? ((MultiLayerNetwork) model).getLayerWiseConfigurations().getTrainingWorkspaceMode()
                : ((ComputationGraph) model).getConfiguration().getTrainingWorkspaceMode();
        return mode == WorkspaceMode.NONE
                ? "trains with WorkspaceMode.NONE, expected ENABLED: without workspaces arrays wait for the Java garbage"
                        + " collector, and nothing bounds them"
                : "";
    }

    /**
     * Refuses minibatches that nothing follows from.
     *
     * @throws IllegalArgumentException if the one that {@code model} holds has too few examples, or cannot be split
     */
    static void rows(Model model) {
        HeldMinibatch held = HeldMinibatch.of(model);
        if (held.rows() < PassMemory.HIGH) {
            throw new IllegalArgumentException(
                    held.rows() == 0
                            ? "A budget cannot be decided: " + held.whyWhole()
                            : "A budget cannot be decided with a minibatch of " + Count.of(held.rows(), "example")
                                    + ", expected at least " + PassMemory.HIGH);
        }
    }
}
