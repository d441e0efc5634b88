// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.UpdaterState;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a network holds from one iteration to the next.
 *
 * @param updater state of the updater, which exists from the first update on
 */
record FlatBytes(long parameters, long gradients, long updater) {

    /** Of {@code model}, whether or not its gradients and updater state exist yet. */
    static FlatBytes of(Model model) {
        INDArray parameters = model.params();
        int width = parameters.dataType().width();
        long bytes = parameters.length() * width;
        return new FlatBytes(bytes, bytes, UpdaterState.elements(model) * width);
    }
}
