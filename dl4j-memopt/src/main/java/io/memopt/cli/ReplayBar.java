// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.analysis.replay.ReplayRow;
import java.util.List;

/**
 * Bars of one scale, an allocator's peak each: {@code #} for what arrays fill, {@code .} for what is reserved beyond, i.e.
 * rounding and holes.
 */
final class ReplayBar {
    static final int WIDTH = 24;

    private final long largest;

    /** The longest bar is that of the largest peak among {@code rows}. */
    ReplayBar(List<ReplayRow> rows) {
        largest = rows.stream().mapToLong(ReplayRow::peakReservedBytes).max().orElse(0);
    }

    /** The bar of one row; empty when nothing is ever reserved. */
    String of(ReplayRow row) {
        if (largest == 0) {
            return "";
        }
        double share = (double) row.peakReservedBytes() / largest;
        double filled = share * Math.max(0, 1 - row.internalFragmentation() - row.externalFragmentation());
        int length = (int) Math.round(WIDTH * share);
        int full = Math.min(length, (int) Math.round(WIDTH * filled));
        return "#".repeat(full) + ".".repeat(length - full);
    }
}
