// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.List;

/**
 * Holes in the workspace blocks of the focus space at one moment, from the addresses of blocks and arrays.
 *
 * @param reservedBytes held in all
 * @param blockBytes part of that in workspace blocks
 * @param freeBytes part of the blocks that no array covers
 * @param largestHoleBytes largest piece of it without a gap
 * @param holes number of pieces
 * @param roundingBytes bytes of live arrays that nobody asked for: internal fragmentation
 * @param holesByLog2 holes by size: entry {@code i} counts those of {@code [2^i, 2^(i+1))} bytes
 */
public record FragmentationSample(
        long timeNanos,
        long event,
        long reservedBytes,
        long inUseBytes,
        long blockBytes,
        long freeBytes,
        long largestHoleBytes,
        long holes,
        long roundingBytes,
        List<Long> holesByLog2) {

    public FragmentationSample {
        holesByLog2 = List.copyOf(holesByLog2);
    }

    /** {@code 1 - largest hole / free bytes}: 0 when the free bytes are in one piece or there are none. */
    public double external() {
        return freeBytes == 0 ? 0 : 1 - (double) largestHoleBytes / freeBytes;
    }

    /** Share of the bytes in use that nobody asked for: internal fragmentation. */
    public double internal() {
        return inUseBytes == 0 ? 0 : (double) roundingBytes / inUseBytes;
    }

    /** Share of reserved bytes that no array occupies. */
    public double idleShare() {
        return reservedBytes == 0 ? 0 : Math.max(0, 1 - (double) inUseBytes / reservedBytes);
    }
}
