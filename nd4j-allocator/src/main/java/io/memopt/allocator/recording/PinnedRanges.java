// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.MemorySpace;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The page-locked memory of the process that is known: a copy from or to it needs no staging buffer of the driver.
 * Threading: any thread, no locks.
 */
final class PinnedRanges {
    /** Start to end. */
    private final ConcurrentSkipListMap<Long, Long> ranges = new ConcurrentSkipListMap<>();

    void add(long address, long bytes) {
        ranges.put(address, address + bytes);
    }

    void remove(long address) {
        ranges.remove(address);
    }

    /** The space in which host memory at {@code address} lies. */
    MemorySpace spaceOf(long address) {
        Map.Entry<Long, Long> range = ranges.isEmpty() ? null : ranges.floorEntry(address);
        return range != null && address < range.getValue() ? MemorySpace.PINNED : MemorySpace.HOST;
    }
}
