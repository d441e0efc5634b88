// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import java.util.Optional;
import java.util.OptionalLong;

/** Looks at the samples of the process. Threading: confined. */
final class ProcessBook {
    private final LiveSet live;
    private long samples;
    private long maxResident;
    private long lastResident;
    private long lastJava;
    private long maxUnattributed;
    private long lastUnattributed;
    private long lastNanos;
    private boolean peakSeen;
    private long peakNanos;
    private long distance = Long.MAX_VALUE;
    private long atPeak;

    ProcessBook(LiveSet live) {
        this.live = live;
    }

    void sampled(long timeNanos, long resident, long java) {
        long known = java + live.reservedBytes(MemorySpace.HOST) + live.reservedBytes(MemorySpace.PINNED);
        samples++;
        lastNanos = timeNanos;
        lastResident = resident;
        lastJava = java;
        lastUnattributed = Math.max(0, resident - known);
        maxResident = Math.max(maxResident, resident);
        maxUnattributed = Math.max(maxUnattributed, lastUnattributed);
        if (peakSeen) {
            near();
        }
    }

    /** The moment that {@link #atPeak()} is about. */
    void peak(long timeNanos) {
        peakSeen = true;
        peakNanos = timeNanos;
        if (samples > 0) {
            near();
        }
    }

    private void near() {
        long away = Math.abs(lastNanos - peakNanos);
        if (away < distance) {
            distance = away;
            atPeak = lastUnattributed;
        }
    }

    /** Unattributed bytes at the sample nearest to the peak; absent without samples. */
    OptionalLong atPeak() {
        return distance == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(atPeak);
    }

    /** Time between that sample and the peak. */
    long distanceNanos() {
        return distance;
    }

    Optional<ProcessRow> row() {
        return samples == 0
                ? Optional.empty()
                : Optional.of(new ProcessRow(
                        samples, maxResident, lastResident, lastJava, maxUnattributed, lastUnattributed));
    }
}
