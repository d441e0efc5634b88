// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Addresses that were reserved at once, and which memory lies behind each part of them. */
final class Region {
    final long address;
    final long bytes;

    private final long pageBytes;
    /** By the page at which they begin. */
    private final @Nullable Extent[] extents;

    Region(long address, long bytes, long pageBytes) {
        this.address = address;
        this.bytes = bytes;
        this.pageBytes = pageBytes;
        this.extents = new Extent[Math.toIntExact(bytes / pageBytes)];
    }

    boolean holds(long at) {
        return at >= address && at < address + bytes;
    }

    void put(long at, List<Extent> mapped) {
        int index = index(at);
        for (Extent extent : mapped) {
            extents[index] = extent;
            index += extent.pages();
        }
    }

    /** Forgets {@code gone}, which began at {@code at}. */
    void remove(long at, List<Extent> gone) {
        int index = index(at);
        for (Extent extent : gone) {
            extents[index] = null;
            index += extent.pages();
        }
    }

    /** Address of the first extent that begins in {@code [from, to)}; {@code to} or more when there is none. */
    long firstStart(long from, long to) {
        int index = index(from + pageBytes - 1);
        while (index < extents.length && start(index) < to && extents[index] == null) {
            index++;
        }
        return start(index);
    }

    /** The extents one after the other from {@code at} on, which is where one begins, as far as they end by {@code to}. */
    List<Extent> between(long at, long to) {
        List<Extent> found = new ArrayList<>();
        int index = index(at);
        while (index < extents.length) {
            Extent extent = extents[index];
            if (extent == null || start(index + extent.pages()) > to) {
                return found;
            }
            found.add(extent);
            index += extent.pages();
        }
        return found;
    }

    private long start(int index) {
        return address + index * pageBytes;
    }

    private int index(long at) {
        return (int) ((at - address) / pageBytes);
    }
}
