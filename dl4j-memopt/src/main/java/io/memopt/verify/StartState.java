// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Parameters and updater state of the first network that it meets, given to all later ones. Threading: confined. */
final class StartState implements AutoCloseable {
    private @Nullable INDArray parameters;
    private @Nullable INDArray updaterState;

    /** Those of the first network; null before there was one. */
    @Nullable
    INDArray parameters() {
        return parameters;
    }

    /**
     * Has {@code model} begin as the first one did.
     *
     * @throws IllegalArgumentException if it has another number of parameters
     */
    void give(Model model) {
        INDArray mine = model.params();
        INDArray first = parameters;
        if (first == null) {
            parameters = mine.dup();
            INDArray state = Models.updaterState(model);
            updaterState = state == null ? null : state.dup();
            return;
        }
        if (first.length() != mine.length()) {
            throw new IllegalArgumentException("the supplier made networks of " + first.length() + " and of "
                    + mine.length() + " parameters, expected the same shape each time");
        }
        mine.assign(first);
        INDArray state = Models.updaterState(model);
        INDArray firstState = updaterState;
        if (state != null && firstState != null) {
            state.assign(firstState);
        }
    }

    /** Forgets. */
    @Override
    public void close() {
        close(parameters);
        close(updaterState);
        parameters = null;
        updaterState = null;
    }

    private static void close(@Nullable INDArray array) {
        if (array != null && array.closeable()) {
            array.close();
        }
    }
}
