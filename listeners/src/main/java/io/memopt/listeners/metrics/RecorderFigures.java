// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import java.util.Map;

/** What the ledger does not know about recording. Methods must be quick and must not throw; called for each scrape. */
public interface RecorderFigures {

    /** Nothing to tell. */
    RecorderFigures NONE = new RecorderFigures() {};

    /** Events that the trace file lost so far; never decreases. */
    default long lostEvents() {
        return 0;
    }

    /** Memory held for recording beyond the books, e.g. ring buffers. */
    default long memoryBytes() {
        return 0;
    }

    /** Bytes of detached arrays that were freed as soon as they were dead; never decreases. */
    default long releasedBytes() {
        return 0;
    }

    /** Passes whose workspace arrays came from a planned arena; never decreases. */
    default long plannedPasses() {
        return 0;
    }

    /** Passes that asked for other arrays than planned; never decreases. */
    default long missedPasses() {
        return 0;
    }

    /** Passes whose workspace arrays lay in an arena without a plan; never decreases. */
    default long sizedPasses() {
        return 0;
    }

    /** Times that an arena gave way to a larger one; never decreases. */
    default long arenaResizes() {
        return 0;
    }

    /** Bytes of arenas given back because passes had not needed them for long; never decreases. */
    default long trimmedBytes() {
        return 0;
    }

    /** Bytes of arenas given back because their threads were idle; never decreases. */
    default long idleBytes() {
        return 0;
    }

    /** Device memory that pools hold; 0 without pools. */
    default long poolReservedBytes() {
        return 0;
    }

    /** The part of it that is handed out. */
    default long poolLiveBytes() {
        return 0;
    }

    /** Calls that pools made to obtain, map or give back device memory; never decreases. */
    default long poolDriverCalls() {
        return 0;
    }

    /** The driver's figure of device memory by what took it, in bytes; empty without a GPU. */
    default Map<String, Long> deviceMemory() {
        return Map.of();
    }

    /** Pageable memory in the place of page-locked host mirrors. */
    default long mirrorBytes() {
        return 0;
    }

    /** Copies of what had been offloaded to the host that were under way when training began to count on them; never decreases. */
    default long offloadLate() {
        return 0;
    }

    /** Seconds that devices stood still for such copies; never decreases. */
    default double offloadWaitedSeconds() {
        return 0;
    }

    /** Bytes to the nearest limit; negative while not known. */
    default long headroomBytes() {
        return -1;
    }

    /** Iterations to the nearest limit at the slope of late; infinite without growth. */
    default double iterationsLeft() {
        return Double.POSITIVE_INFINITY;
    }

    /** Iterations that ran out of memory and were done again; never decreases. */
    default long recoveries() {
        return 0;
    }

    /** Passes so far that were no iterations, by kind in lower case; none ever decreases. */
    default Map<String, Long> extraPasses() {
        return Map.of();
    }

    /** What prefetching iterators of the process did so far. */
    default PrefetchFigures prefetch() {
        return PrefetchFigures.NONE;
    }

    /** Prefetch threads whose iterator nobody reads any more. */
    default int leakedPrefetchers() {
        return 0;
    }
}
