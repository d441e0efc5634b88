// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Listens to a network that computes for another one, and tells that one's listeners, as if it had computed itself. Threading: the
 * training thread.
 */
public final class ListenerRelay extends BaseTrainingListener {
    private final WeakReference<Model> network;

    /** {@code network}: whose listeners are told, as long as it lives. */
    public ListenerRelay(Model network) {
        this.network = new WeakReference<>(network);
    }

    /** Whether one of those who are told may read activations. */
    boolean reads() {
        Model its = network.get();
        return its != null && ActivationReaders.among(its);
    }

    private void tell(BiConsumer<TrainingListener, Model> call) {
        Model its = network.get();
        if (its != null) {
            for (TrainingListener listener : List.copyOf(NetworkAccess.listeners(its))) {
                call.accept(listener, its);
            }
        }
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        tell((listener, its) -> listener.onForwardPass(its, activations));
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        tell((listener, its) -> listener.onForwardPass(its, activations));
    }

    @Override
    public void onBackwardPass(Model model) {
        tell((listener, its) -> listener.onBackwardPass(its));
    }
}
