// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * Figures of a {@link MemoryPool} at one moment, in bytes unless named otherwise.
 *
 * @param reservedBytes held from the source
 * @param reservedPeakBytes the most of it so far
 * @param liveBytes handed out, rounded sizes
 * @param livePeakBytes the most of it so far
 * @param heldBytes freed, but the device may not be through with them
 * @param largestFreeBytes largest block that could be handed out now without asking the source
 * @param liveBlocks number of blocks handed out
 * @param allocations blocks handed out since the beginning
 * @param waits how often an allocation waited for the device
 * @param calls of the driver
 */
public record PoolStatistics(
        long reservedBytes,
        long reservedPeakBytes,
        long liveBytes,
        long livePeakBytes,
        long heldBytes,
        long largestFreeBytes,
        int liveBlocks,
        long allocations,
        long waits,
        SourceCalls calls) {
    /** A pool that never was. */
    public static final PoolStatistics NONE = new PoolStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0, new SourceCalls(0, 0, 0));

    /** Figures of two pools; peaks are added, although they need not fall together. */
    public PoolStatistics plus(PoolStatistics other) {
        return new PoolStatistics(
                reservedBytes + other.reservedBytes,
                reservedPeakBytes + other.reservedPeakBytes,
                liveBytes + other.liveBytes,
                livePeakBytes + other.livePeakBytes,
                heldBytes + other.heldBytes,
                Math.max(largestFreeBytes, other.largestFreeBytes),
                liveBlocks + other.liveBlocks,
                allocations + other.allocations,
                waits + other.waits,
                calls.plus(other.calls));
    }
}
