// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.List;

/**
 * What the layers of a network cost, in order of the forward pass. In a chain of layers each output is used by the next one; in a
 * graph by several, of which the last decides how long it lives:
 *
 * <pre>
 *   position   0    1    2    3        cut at 2: outputs 0 and 1 are kept, since layers from 2 on use them
 *              a -- b -- c -- +        cut at 3: outputs 0 and 2
 *               \\____________/
 * </pre>
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
     * @param cuttable whether its output can be kept: false when a later layer writes into it
     * @param reruns false when its backward pass needs nothing of its forward pass but its input
     * @param until position of the last layer that uses its output; its own or less if none does
     */
    public record Cost(long inner, long output, long nanos, boolean cuttable, boolean reruns, int until) {

        /** Whether its output is kept when the layers are cut before position {@code end}, which is after its own. */
        public boolean crosses(int end) {
            return until >= end;
        }

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

    /** The same sizes, with layers that all take the same time. */
    Chain withEqualTimes() {
        return new Chain(layers.stream()
                .map(cost -> new Cost(cost.inner, cost.output, 1, cost.cuttable, cost.reruns, cost.until))
                .toList());
    }

    /** Time of the whole forward pass. */
    public long nanos() {
        return layers.stream().mapToLong(Cost::nanos).sum();
    }

    /** Whether the layers can be cut before position {@code end}. */
    boolean cuttable(int end) {
        for (int i = 0; i < end; i++) {
            if (layers.get(i).crosses(end) && !layers.get(i).cuttable) {
                return false;
            }
        }
        return true;
    }

    /** Bytes of outputs of layers from {@code start} on that are kept for others from {@code end} on. */
    long keptBytes(int start, int end) {
        long bytes = 0;
        for (int i = start; i < end; i++) {
            bytes += layers.get(i).crosses(end) ? layers.get(i).output : 0;
        }
        return bytes;
    }

    /** Bytes of outputs of layers before {@code start} that those before {@code end} are the last to use. */
    long usedLastBytes(int start, int end) {
        long bytes = 0;
        for (int i = 0; i < start; i++) {
            bytes += layers.get(i).crosses(start) && !layers.get(i).crosses(end) ? layers.get(i).output : 0;
        }
        return bytes;
    }
}
