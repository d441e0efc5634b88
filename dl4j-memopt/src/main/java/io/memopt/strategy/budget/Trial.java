// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.analysis.Exactness;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * Passes over two and three examples of the minibatch that a network holds, in each way to keep activations: what they take and how
 * they compare in time. The network is afterwards what it was, but for its gradients, which the next pass computes anyway.
 */
final class Trial {
    private final Model model;
    private final TrainingTracker tracker;
    private final HeldMinibatch held;
    private final Map<Keep, PassMemory> memories = new LinkedHashMap<>();
    private ActivationLever lever;

    private Trial(Model model, TrainingTracker tracker, HeldMinibatch held) {
        this.model = model;
        this.tracker = tracker;
        this.held = held;
        this.lever = ActivationLever.none(() -> NetworkAccess.computePlainly(model));
    }

    /** Runs on the training thread, while nothing serves workspaces in ND4J's place. */
    static Trial of(Model model, TrainingTracker tracker, HeldMinibatch held) {
        Trial trial = new Trial(model, tracker, held);
        Untouched.by(model, trial::run);
        WorkspaceReuse.releaseBlocks();
        return trial;
    }

    Map<Keep, PassMemory> memories() {
        return memories;
    }

    ActivationLever lever() {
        return lever;
    }

    private void run() {
        try {
            // ND4J makes some constants once in the life of a process, and gradients are made with the first pass.
            held.give(0, PassMemory.HIGH);
            NetworkAccess.computePlainly(model);
            if (canBeCut()) {
                lever = new SegmentLever(model, tracker);
            }
            for (Keep keep : lever.choices()) {
                record(keep).ifPresent(memory -> memories.put(keep, memory));
            }
        } finally {
            held.restore();
        }
    }

    private boolean canBeCut() {
        StepOptions any = new StepOptions(StepOptions.WHOLE, 1, 0);
        return !isShort() && TrainingSteps.refusal(model, any).isEmpty();
    }

    private boolean isShort() {
        return model instanceof MultiLayerNetwork network && network.getnLayers() <= 2;
    }

    private Optional<PassMemory> record(Keep keep) {
        IntConsumer pass = batch -> {
            held.give(0, batch);
            lever.pass(keep);
            tracker.passEnded(model);
        };
        return PassMemory.record(tracker.recording(), pass);
    }

    /** Whether minibatches of {@code model} may be computed in parts, as far as {@code loosest} allows. */
    static boolean partsAllowed(Model model, Exactness loosest) {
        return loosest != Exactness.BITWISE
                && TrainingSteps.refusal(model, new StepOptions(1, 1, 1)).isEmpty();
    }
}
