// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.ArrivingMinibatch;
import io.memopt.strategy.step.StepOptions;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;

/** What a decision is put into effect with. Called on the training thread, between iterations. */
public interface BudgetLevers {

    /** Has passes of {@code model} served by this kind of reuse from now on; garbage that was released once goes on being. */
    void reuse(Model model, Reuse reuse);

    /** Whether iterations that run out of memory are undone, for which a step keeps copies. */
    boolean guards();

    /** The scratch memory that convolutions of {@code model} take beside workspaces; empty where they take none. */
    default Optional<NetworkScratch> scratch(Model model) {
        return Optional.empty();
    }

    /** Gives {@code model} its own step back, and its passes to whatever reuse there is. */
    void release(Model model);

    /** Has {@code hears} hear of minibatches in steps that begin from now on. */
    default void onMinibatch(ArrivingMinibatch hears) {}

    /** Trains {@code model} by {@code options} from now on, whatever was set before. */
    void step(Model model, StepOptions options);

    /** Whether reuse has no need to learn the minibatch that {@code model} holds. */
    default boolean knowsMinibatch(Model model) {
        return true;
    }

    /**
     * Has reuse learn what the minibatch that {@code model} holds needs.
     *
     * @param give hands so many of its examples to the network
     * @return whether reuse serves passes as asked; false when no plan could be proved
     */
    boolean rehearse(Model model, IntConsumer give);

    /** Whether reuse served the pass that {@code model} has just computed as asked, so that later ones like it take the same time. */
    boolean serves(Model model);
}
