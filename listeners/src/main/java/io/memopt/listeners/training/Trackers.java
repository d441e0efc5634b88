// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Recording;
import org.jspecify.annotations.Nullable;

/** The tracker of the recording that runs. Threading: safe. */
public final class Trackers {
    private static @Nullable Recording recording;
    private static @Nullable TrainingTracker tracker;

    private Trackers() {}

    /**
     * Installs the hooks if need be and returns the tracker of their recording.
     *
     * @throws io.memopt.allocator.nd4j.HookException if they cannot be installed
     */
    public static synchronized TrainingTracker current() {
        Recording running = MemoryHooks.install();
        TrainingTracker known = tracker;
        if (known == null || recording != running) {
            known = new TrainingTracker(running);
            recording = running;
            tracker = known;
        }
        return known;
    }
}
