// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import org.deeplearning4j.nn.api.Model;

/** Passes of a network that it is not to remember. Threading: the training thread of the network. */
public final class Untouched {
    private Untouched() {}

    /**
     * Runs {@code work}, which computes passes of {@code model}, without a word to listeners. Afterwards the random generator of the
     * thread, what layers carry from one pass to the next, and the score are what they were; gradients are those of the last pass.
     *
     * @throws IllegalStateException if the state of layers cannot be told; nothing was done then
     */
    public static void by(Model model, Runnable work) {
        PassState before = PassState.of(model);
        double score = model.score();
        try {
            NetworkAccess.silently(model, work);
        } finally {
            before.restore();
            NetworkAccess.score(model, score);
        }
    }
}
