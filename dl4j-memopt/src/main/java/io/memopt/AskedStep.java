// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.guard.OutOfMemory;
import io.memopt.strategy.budget.BudgetOptions;
import io.memopt.strategy.step.StepOptions;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;

/**
 * What the first handle that asked for it has a network's training step be; later handles may ask for the same or for nothing.
 * Immutable.
 */
record AskedStep(WeakReference<Model> network, StepOptions step, OutOfMemory outOfMemory, BudgetOptions budget) {

    static AskedStep of(Model network, MemOptConfig config) {
        return new AskedStep(
                new WeakReference<>(network), config.step(), config.guard().mode(), config.budget());
    }

    boolean isOf(Model model) {
        return network.refersTo(model);
    }

    boolean isNothing() {
        return step.equals(StepOptions.PLAIN) && !outOfMemory.guards() && !budget.isSet();
    }

    /**
     * Refuses what cannot be beside this.
     *
     * @throws IllegalArgumentException with both
     */
    void check(AskedStep later) {
        boolean otherStep = !later.step.equals(StepOptions.PLAIN) && !later.step.equals(step);
        boolean otherGuard = later.outOfMemory.guards() && later.outOfMemory != outOfMemory;
        boolean otherBudget = later.budget.isSet() && !later.budget.equals(budget);
        if (otherStep || otherGuard || otherBudget) {
            throw new IllegalArgumentException("This network is trained with " + this
                    + " by an earlier handle, and cannot be with " + later
                    + " at the same time. Close that handle first.");
        }
    }

    /** What differs from Deeplearning4j's own step. */
    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        if (!step.equals(StepOptions.PLAIN)) {
            parts.add(step.toString());
        }
        if (budget.isSet()) {
            parts.add("budget=" + budget);
        }
        if (outOfMemory.guards()) {
            parts.add("outOfMemory=" + outOfMemory);
        }
        return String.join(", ", parts);
    }
}
