// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

/**
 * What the prefetching iterators of a process did since its start.
 *
 * @param batches handed out
 * @param preparationNanos threads took to read, prepare and copy batches to the device
 * @param waits batches that the reader of an iterator had to wait for
 * @param waitNanos it waited
 * @param aheadBytes in batches that are read and not handed out yet; the only figure that may fall
 */
public record PrefetchFigures(long batches, long preparationNanos, long waits, long waitNanos, long aheadBytes) {
    /** No iterator prefetches. */
    public static final PrefetchFigures NONE = new PrefetchFigures(0, 0, 0, 0, 0);
}
