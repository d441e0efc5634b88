// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.List;

/**
 * Which activations are kept for the backward pass.
 *
 * @param cuts exclusive ends of segments, of which only the outputs are kept; empty when all are
 */
record Keep(List<Integer> cuts) {
    static final Keep ALL = new Keep(List.of());

    Keep {
        cuts = List.copyOf(cuts);
    }

    boolean isAll() {
        return cuts.isEmpty();
    }
}
