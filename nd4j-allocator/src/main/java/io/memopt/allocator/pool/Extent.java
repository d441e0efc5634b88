// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * Pages of memory that were obtained in one piece and are mapped and given back so.
 *
 * @param handle what the device calls it
 * @param pages number of pages, at least 1
 */
public record Extent(long handle, int pages) {
    public Extent {
        if (pages < 1) {
            throw new IllegalArgumentException("pages=" + pages + ", expected at least 1");
        }
    }

    /** Pages of all together. */
    static int pages(Iterable<Extent> extents) {
        int sum = 0;
        for (Extent extent : extents) {
            sum = Math.addExact(sum, extent.pages);
        }
        return sum;
    }
}
