// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What a forward and backward pass reads and changes besides parameters, inputs and gradients: the random generator of the
 * thread, and what recurrent layers carry from one segment of a sequence to the next.
 */
final class PassState {
    private final long rootState;
    private final long nodeState;
    private final List<RecurrentLayer> recurrent;
    private final List<Map<String, INDArray>> carried;

    private PassState(long rootState, long nodeState, List<RecurrentLayer> recurrent) {
        this.rootState = rootState;
        this.nodeState = nodeState;
        this.recurrent = recurrent;
        this.carried =
                recurrent.stream().map(layer -> copy(layer.rnnGetTBPTTState())).toList();
    }

    /** The state now. Layers replace what they carry, they do not write into it: references are enough. */
    static PassState of(Model model) {
        return new PassState(
                Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState(), NetworkAccess.recurrentLayers(model));
    }

    void restore() {
        Nd4j.getRandom().setStates(rootState, nodeState);
        for (int i = 0; i < recurrent.size(); i++) {
            recurrent.get(i).rnnSetTBPTTState(copy(carried.get(i)));
        }
    }

    private static Map<String, INDArray> copy(@Nullable Map<String, INDArray> state) {
        return state == null ? new HashMap<>() : new HashMap<>(state);
    }
}
