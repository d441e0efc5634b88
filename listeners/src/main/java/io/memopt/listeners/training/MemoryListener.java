// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.Settings;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Observes the memory of the networks it is added to, the classic Deeplearning4j way:
 * {@code net.addListeners(new MemoryListener())}. Reads nothing from arrays and changes nothing. Failures are logged once
 * and never reach training.
 *
 * <p>Threading: as Deeplearning4j's listeners, on the training thread; one instance may serve several networks.
 */
public final class MemoryListener extends BaseTrainingListener {
    private static final Logger log = LoggerFactory.getLogger(MemoryListener.class);

    private @Nullable TrainingTracker tracker;
    private boolean failed;

    /** Installs the hooks when the first network calls, unless {@link Settings#ENABLED} is off. */
    public MemoryListener() {
        Settings.check();
        failed = !Settings.enabled();
    }

    /** Reports to {@code tracker}, whose hooks are in place. */
    public MemoryListener(TrainingTracker tracker) {
        this.tracker = tracker;
    }

    @Override
    public void onEpochStart(Model model) {
        report(t -> t.onEpoch(model, true));
    }

    @Override
    public void onEpochEnd(Model model) {
        report(t -> t.onEpoch(model, false));
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        report(t -> t.onForwardPass(model));
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        report(t -> t.onForwardPass(model));
    }

    @Override
    public void onBackwardPass(Model model) {
        report(t -> t.onBackwardPass(model));
    }

    @Override
    public void onGradientCalculation(Model model) {
        report(t -> t.onGradients(model));
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        report(t -> t.onIteration(model, iteration, epoch));
    }

    private void report(Consumer<TrainingTracker> call) {
        if (failed) {
            return;
        }
        try {
            TrainingTracker known = tracker;
            if (known == null) {
                known = Trackers.current();
                tracker = known;
            }
            call.accept(known);
        } catch (HookException e) {
            failed = true;
            log.warn("{} Training goes on without memory figures.", e.getMessage());
        } catch (RuntimeException e) {
            failed = true;
            log.warn("Memory figures of this network end here; training goes on.", e);
        }
    }
}
