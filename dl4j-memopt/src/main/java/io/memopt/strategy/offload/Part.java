// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/** A range of parameters that are updated at once, with their state. Threading: confined. */
final class Part {
    private final IUpdater kind;
    private final long state;
    private final int arrays;
    private final long parameters;
    private final long from;
    private final long length;
    private @Nullable GradientUpdater<?> updater;

    /**
     * A part of the state that begins at element {@code state}, of so many arrays, each with an element for each parameter.
     *
     * @param from first parameter of the part, among those of its updater
     */
    Part(IUpdater kind, long state, int arrays, long parameters, long from, long length) {
        this.kind = kind;
        this.state = state;
        this.arrays = arrays;
        this.parameters = parameters;
        this.from = from;
        this.length = length;
    }

    int arrays() {
        return arrays;
    }

    /** Elements of each array. */
    long length() {
        return length;
    }

    /** First element of the whole state that it has of array {@code number}. */
    long offset(int number) {
        return state + number * parameters + from;
    }

    /** Updates with the state at the begin of {@code room}, one array behind the other; the same room each time. */
    void update(INDArray room, INDArray gradient, int iteration, int epoch) {
        GradientUpdater<?> its = updater;
        if (its == null) {
            its = kind.instantiate(room.get(NDArrayIndex.interval(0, arrays * length)), false);
            updater = its;
        }
        its.applyUpdater(gradient.get(NDArrayIndex.interval(from, from + length)), iteration, epoch);
    }
}
