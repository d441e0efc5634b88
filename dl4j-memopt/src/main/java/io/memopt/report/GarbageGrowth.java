// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.analysis.TheilSen;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What a pass leaves of arrays that are still held. They are counted up in the order of the passes that made them, from the first of
 * these to the latest pass; the slope of that curve is Theil's and Sen's, see {@link io.memopt.analysis.Growth}. So passes before
 * the oldest of them, whose arrays have been collected, do not count, and arrays of a few passes alone give no growth.
 *
 * <p>Threading: confined.
 */
final class GarbageGrowth {
    /** With fewer passes nothing can be said. */
    static final int FEWEST = 4;

    private static final int SAMPLES = 64;

    private final SortedMap<Long, Long> bytesByPass = new TreeMap<>();

    /** An array that was made when {@code passes} were over. */
    void add(long passes, long bytes) {
        bytesByPass.merge(passes, bytes, Long::sum);
    }

    /** Bytes for each pass, now that {@code passes} are over; 0 when most of them left nothing, or nothing can be said. */
    long perPass(long passes) {
        long first = bytesByPass.isEmpty() ? passes : bytesByPass.firstKey();
        long length = passes - first;
        if (length < FEWEST) {
            return 0;
        }
        int steps = (int) Math.min(SAMPLES, length);
        long[] at = new long[steps + 1];
        Arrays.setAll(at, i -> first + length * i / steps);
        return Math.max(0, Math.round(TheilSen.slope(at, heldAfter(at))));
    }

    private long[] heldAfter(long[] at) {
        long[] held = new long[at.length];
        for (int i = 1; i < at.length; i++) {
            held[i] = held[i - 1]
                    + bytesByPass.subMap(at[i - 1], at[i]).values().stream()
                            .mapToLong(Long::longValue)
                            .sum();
        }
        return held;
    }
}
