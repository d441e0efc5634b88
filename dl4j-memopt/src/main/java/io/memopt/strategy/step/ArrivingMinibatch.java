// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import org.deeplearning4j.nn.api.Model;

/** Hears of minibatches before anything is computed of them. Threading: called on the training thread of the network. */
@FunctionalInterface
public interface ArrivingMinibatch {

    /**
     * Asked first, unless gradients are gathered for a later update, or a guard has found another way: whether another step was put in the place of this one, which
     * then trains the minibatch that {@code model} holds.
     */
    default boolean replacesStep(Model model) {
        return false;
    }

    /** The minibatch that {@code model} holds is about to be computed. May compute passes of its own that leave the network as it is. */
    void arrives(Model model);
}
