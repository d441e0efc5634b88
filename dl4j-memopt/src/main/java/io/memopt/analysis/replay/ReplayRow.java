// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * What one allocator came to. Figures "at peak" are those of the first moment at which it held most; planned arenas, held from
 * first to last, count with their own fullest moments.
 *
 * @param allocator name of the model
 * @param peakReservedBytes most that it held from the driver
 * @param requestedAtPeakBytes asked for by the arrays that were live then
 * @param roundedAtPeakBytes the same after its rounding
 * @param largestHoleAtPeakBytes largest array that would have fitted into the rest
 * @param endReservedBytes held at the end of the trace
 * @param driverCalls allocations and releases of the driver
 * @param remark what the model assumes
 */
public record ReplayRow(
        String allocator,
        long peakReservedBytes,
        long requestedAtPeakBytes,
        long roundedAtPeakBytes,
        long largestHoleAtPeakBytes,
        long endReservedBytes,
        long driverCalls,
        String remark) {

    /** Share of what is held at the peak that rounding takes. */
    public double internalFragmentation() {
        return peakReservedBytes == 0 ? 0 : (double) (roundedAtPeakBytes - requestedAtPeakBytes) / peakReservedBytes;
    }

    /** Share of what is held at the peak that no array occupies. */
    public double externalFragmentation() {
        return peakReservedBytes == 0 ? 0 : 1 - (double) roundedAtPeakBytes / peakReservedBytes;
    }
}
