// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import org.deeplearning4j.nn.api.Model;

/** Hears of an observed network's training on the training thread. Must be quick and must not throw. */
public interface ModelObserver {

    /** Gradients and score of a minibatch are known; the update has not begun, all workspaces are closed. */
    default void gradientsComputed(Model model) {}

    /**
     * A training thread of a {@code ParallelWrapper} is about to begin with {@code model}, an observed network or a copy of
     * one. The wrapper has given it the listeners that the network had when the wrapper was built, and no other. None is
     * being called.
     */
    default void workerBegins(Model model) {}

    /** An epoch of {@code model} begins: its iterator is ready, no workspace is open. */
    default void epochBegins(Model model) {}

    /** An iteration of {@code model} is over, parameters are updated. Its listeners are being called. */
    default void iterationEnded(Model model) {}
}
