// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.List;

/**
 * What the layers of a chain cost, in order of the forward pass.
 *
 * @param layers one for each layer
 */
public record Chain(List<Cost> layers) {

    /**
     * One layer.
     *
     * @param inner bytes of activations that it makes besides its output, e.g. a reshaped or dropped-out input; at least 0
     * @param output bytes of its output, at least 0
     * @param nanos time of its forward pass, at least 0
     * @param cuttable whether its output can be kept: false when the next layer writes into it
     * @param reruns false when its backward pass needs nothing of its forward pass but its input
     */
    public record Cost(long inner, long output, long nanos, boolean cuttable, boolean reruns) {
        public Cost {
            if (inner < 0 || output < 0 || nanos < 0) {
                throw new IllegalArgumentException(
                        "inner=" + inner + ", output=" + output + ", nanos=" + nanos + ", expected none below 0");
            }
        }
    }

    public Chain {
        layers = List.copyOf(layers);
    }

    public int length() {
        return layers.size();
    }

    /** Bytes that are kept without checkpoints. */
    public long bytes() {
        return layers.stream().mapToLong(cost -> cost.inner + cost.output).sum();
    }

    /** Time of the whole forward pass. */
    public long nanos() {
        return layers.stream().mapToLong(Cost::nanos).sum();
    }
}
