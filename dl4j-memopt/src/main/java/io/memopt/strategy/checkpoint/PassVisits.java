// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.event.Phase;
import io.memopt.listeners.training.TrainingTracker;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/** Tells the tracker which layer or vertex a pass visits whenever that is not the one that it expects. Threading: confined. */
final class PassVisits {
    private final TrainingTracker tracker;
    private final Model network;
    private @Nullable Phase phase = Phase.FORWARD;
    private int next;

    PassVisits(TrainingTracker tracker, Model network) {
        this.tracker = tracker;
        this.network = network;
    }

    void next(Phase its, int visit) {
        if (its != phase || visit != next) {
            tracker.goesOn(network, its, visit);
        }
        phase = its;
        next = visit + 1;
    }

    /** The pass goes on with {@code visit} of {@code its} phase; visits after it follow in order. */
    void goesOn(Phase its, int visit) {
        tracker.goesOn(network, its, visit);
    }

    /** Something was visited that the tracker takes for something else. */
    void lost() {
        phase = null;
    }
}
