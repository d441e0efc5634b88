// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** Has a network hold a minibatch as its fit method does. Threading: the training thread. */
public final class SampleMinibatch {
    private SampleMinibatch() {}

    /** Runs {@code work} while {@code model} holds {@code sample}, whose arrays are not copied. */
    public static void with(Model model, MultiDataSet sample, Runnable work) {
        Minibatch whole = Minibatch.whole(sample);
        whole.give(model);
        try {
            work.run();
        } finally {
            Minibatch.clear(model);
        }
    }
}
