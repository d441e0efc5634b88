// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What was recorded, and whether all of it.
 *
 * @param start wall clock at the start of the recording
 * @param startNanos {@link System#nanoTime()} then; all times of an analysis are on this clock
 * @param firstNanos time of the earliest event, {@code startNanos} when there is none
 * @param lastNanos time of the latest event
 * @param events events read
 * @param lostEvents events that the recorder dropped or that damage took
 * @param complete true when nothing is missing and the recording was closed in good order
 * @param exact true when every figure follows from the events: nothing lost, nothing that contradicts itself
 * @param unmatchedFrees frees of memory whose allocation is not in the trace: from before its start, or lost
 * @param properties header lines about versions and host
 */
public record TraceFacts(
        Instant start,
        long startNanos,
        long firstNanos,
        long lastNanos,
        long events,
        long lostEvents,
        boolean complete,
        boolean exact,
        long unmatchedFrees,
        Map<String, String> properties) {

    public TraceFacts {
        properties = Collections.unmodifiableMap(new TreeMap<>(properties));
    }

    /** From the first to the last event. */
    public long durationNanos() {
        return lastNanos - firstNanos;
    }
}
