// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.util.Arrays;

/** How many iterations there were, and how long the last {@value #KEPT} took. Confined, or guarded by its owner. */
final class RecentSteps {
    static final int KEPT = 4096;

    private static final double NANOS_PER_MILLI = 1e6;
    private static final int FEW = 16;

    private long[] recent = new long[FEW];
    private long iterations;
    private long timed;

    /** One more; {@code nanos} is 0 when its duration is not known. */
    void add(long nanos) {
        iterations++;
        if (nanos > 0) {
            int at = (int) (timed++ % KEPT);
            if (at == recent.length) {
                recent = Arrays.copyOf(recent, Math.min(KEPT, 2 * recent.length));
            }
            recent[at] = nanos;
        }
    }

    long iterations() {
        return iterations;
    }

    /** In milliseconds; NaN before the first whose duration is known. */
    double median() {
        int known = (int) Math.min(timed, KEPT);
        if (known == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(recent, known);
        Arrays.sort(sorted);
        return sorted[known / 2] / NANOS_PER_MILLI;
    }
}
