// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What a forward and backward pass reads and changes besides parameters, inputs and gradients: the random generator of the
 * thread, and what layers carry from one call to the next, e.g. recurrent ones from one segment of a sequence to the next.
 */
public final class PassState {
    private final WeakReference<Model> model;
    private final long rootState;
    private final long nodeState;
    private final ObjectState layers;

    private PassState(Model model, long rootState, long nodeState, ObjectState layers) {
        this.model = new WeakReference<>(model);
        this.rootState = rootState;
        this.nodeState = nodeState;
        this.layers = layers;
    }

    /**
     * The state now.
     *
     * @throws IllegalStateException if the layers' cannot be told
     */
    public static PassState of(Model model) {
        return new PassState(
                model,
                Nd4j.getRandom().rootState(),
                Nd4j.getRandom().nodeState(),
                ObjectState.of(NetworkAccess.parts(model)));
    }

    boolean isOf(Model other) {
        return model.refersTo(other);
    }

    /** Gives the random generator of the calling thread and the layers what they had. */
    public void restore() {
        Nd4j.getRandom().setStates(rootState, nodeState);
        layers.restore();
    }
}
