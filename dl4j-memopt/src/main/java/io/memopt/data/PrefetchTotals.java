// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

/** The prefetching iterators of this process together. Threading: safe. */
public final class PrefetchTotals {
    static final Counts COUNTS = new Counts(null);

    private PrefetchTotals() {}

    /** Figures since the start of the process; the depth is 0, for each iterator has its own. */
    public static PrefetchStatistics now() {
        return COUNTS.now(0);
    }
}
