// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import org.jspecify.annotations.Nullable;

/**
 * Counts the views of large arrays that Java still holds, since any of them keeps the whole array alive. Views of views count
 * for the array under all of them. A training step makes hundreds to thousands of views, nearly all of arrays that nothing is
 * counted for: that answer must cost next to nothing.
 *
 * <p>Threading: under the lock of the {@link Journals}.
 */
final class ViewCounts {
    /** Large arrays by their own key and by those of their views. */
    private final AddressMap<LiveAllocation> counted = new AddressMap<>();

    /**
     * Memory of its own became live.
     *
     * @param stale what had the same key and was never freed
     */
    void allocated(long key, LiveAllocation allocation, @Nullable LiveAllocation stale) {
        if (isLarge(allocation)) {
            counted.put(key, allocation);
        } else if (stale != null) {
            freed(key, stale);
        }
    }

    void freed(long key, LiveAllocation allocation) {
        if (isLarge(allocation)) {
            counted.remove(key);
        }
    }

    void created(long parentKey, long viewKey) {
        LiveAllocation array = counted.get(parentKey);
        if (array != null && array.countsViews()) {
            array.viewCreated();
            counted.put(viewKey, array);
        }
    }

    /** Called for keys of no allocation in the books; those that are no view's are ignored. */
    void deleted(long viewKey) {
        LiveAllocation array = counted.remove(viewKey);
        if (array != null) {
            array.viewDeleted();
        }
    }

    /** Keys of arrays whose views are counted, and of these views. */
    long[] keys() {
        return counted.keys(LiveAllocation::countsViews);
    }

    /** Entries held. */
    int size() {
        return counted.size();
    }

    private static boolean isLarge(LiveAllocation allocation) {
        return isLarge(allocation.roundedBytes());
    }

    /** Whether views of an array of {@code bytes} are counted. */
    static boolean isLarge(long bytes) {
        return bytes >= AllocationSites.MINIMUM_BYTES;
    }
}
