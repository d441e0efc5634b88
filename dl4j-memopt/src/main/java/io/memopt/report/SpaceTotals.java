// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;

/** What one memory space holds at the current event of a pass. */
final class SpaceTotals {
    final long[] byCategory = new long[Category.values().length];
    long used;
    long reserved;

    void use(int category, long bytes) {
        byCategory[category] += bytes;
        used += bytes;
    }
}
