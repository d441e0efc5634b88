// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import java.util.OptionalLong;

/**
 * Something to do. The saving is recomputed from the trace: the peak of the events as recorded against the peak of the
 * same events with the change made.
 *
 * @param kind stable name, e.g. for filters
 * @param finding what is wrong, with its numbers
 * @param action the line of code or setting that changes it
 * @param space where bytes are saved
 * @param peakBefore reserved peak of that space as recorded
 * @param peakAfter the same with this change alone; equal when it saves time, not memory
 * @param savedAtEnd reserved bytes at the end of the trace that go away; the figure to look at when memory grows
 * @param timeCost predicted cost in time, {@code "unknown"} where the trace cannot tell
 * @param exactness what it does to results
 * @param unknowns what the trace could not tell, {@code ""} when nothing
 * @param avoidedNanos time that goes away, if known
 */
public record Advice(
        Kind kind,
        String finding,
        String action,
        MemorySpace space,
        long peakBefore,
        long peakAfter,
        long savedAtEnd,
        String timeCost,
        Exactness exactness,
        String unknowns,
        OptionalLong avoidedNanos) {

    /** What is advised. */
    public enum Kind {
        OUTPUT_IN_WORKSPACE,
        CLOSE_DETACHED,
        WORKSPACE_MODE,
        WORKSPACE_INITIAL_SIZE,
        FEWER_THREADS,
        SHUT_DOWN_PREFETCHER,
        PREFETCH_LESS,
        PLAN_ARRAYS,
        AVOID_FORCED_GC
    }

    /** Whether the trace cannot tell what this saves: neither bytes nor time are claimed. */
    public boolean savingIsUnknown() {
        return savedBytes() == 0 && savedAtEnd == 0 && avoidedNanos.isEmpty();
    }

    /** Bytes by which the reserved peak falls. */
    public long savedBytes() {
        return peakBefore - peakAfter;
    }
}
