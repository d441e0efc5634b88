// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import org.deeplearning4j.nn.api.Model;

/** One training iteration of a {@link TwinRun}. The same number must train on the same data every time. */
@FunctionalInterface
public interface TrainingStep {

    /**
     * Trains {@code model}.
     *
     * @param iteration from 0
     */
    void run(Model model, int iteration) throws Exception;
}
