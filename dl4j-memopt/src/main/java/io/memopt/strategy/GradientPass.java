// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

/** An optimizer that has a way of its own to compute the gradients of the minibatch that its network holds. */
public interface GradientPass {

    /**
     * Computes gradients and score once, as the last pass of training did. Callbacks go to the listeners that the network has
     * at that time. Parameters and updater state stay as they are.
     */
    void computeGradients();

    /**
     * How passes are computed at present, a short text: passes computed in another way ask for other arrays. Empty for
     * Deeplearning4j's own way.
     */
    String way();
}
