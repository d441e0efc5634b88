// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.Phase;
import java.util.EnumMap;
import java.util.Map;

/**
 * How the training of one network goes.
 *
 * @param name name of the network
 * @param iteration number of the last finished iteration, -1 if none
 * @param epoch number of the current epoch, -1 if not known
 * @param iterations durations of finished iterations
 * @param phases durations by phase; phases without any left out
 */
public record NetworkFigures(
        String name, long iteration, long epoch, Durations iterations, Map<Phase, Durations> phases) {

    public NetworkFigures {
        Map<Phase, Durations> copy = new EnumMap<>(Phase.class);
        copy.putAll(phases);
        phases = java.util.Collections.unmodifiableMap(copy);
    }

    /** How often, how long in all, and the longest. */
    public record Durations(long count, long totalNanos, long maxNanos) {
        static final Durations NONE = new Durations(0, 0, 0);

        Durations plus(long nanos) {
            return new Durations(count + 1, totalNanos + nanos, Math.max(maxNanos, nanos));
        }

        /** Mean in nanoseconds, 0 if there is none. */
        public double meanNanos() {
            return count == 0 ? 0 : (double) totalNanos / count;
        }
    }
}
