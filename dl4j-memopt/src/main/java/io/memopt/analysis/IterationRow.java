// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/**
 * One training iteration of one thread: from the end of the one before it (or the thread's first event) to its own end.
 * Peaks are those of the whole process in the {@link TraceAnalysis#focus()} space meanwhile; the other figures count what
 * this thread did, in all spaces.
 *
 * @param number as the network counts
 * @param allocatedBytes rounded bytes of arrays
 * @param endInUseBytes in use in the focus space when it ended
 */
public record IterationRow(
        String network,
        long number,
        long epoch,
        long thread,
        long startNanos,
        long endNanos,
        long peakReservedBytes,
        long peakInUseBytes,
        long endReservedBytes,
        long endInUseBytes,
        long allocations,
        long allocatedBytes,
        long spills,
        long spilledBytes,
        long resizes,
        long transferredBytes) {

    public long durationNanos() {
        return endNanos - startNanos;
    }
}
