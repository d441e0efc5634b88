// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/** Addresses that were reserved at once, and which page lies behind each part of them. */
final class Region {
    final long address;
    final long bytes;

    private final long pageBytes;
    private final long[] handles;

    Region(long address, long bytes, long pageBytes) {
        this.address = address;
        this.bytes = bytes;
        this.pageBytes = pageBytes;
        this.handles = new long[Math.toIntExact(bytes / pageBytes)];
    }

    boolean holds(long at) {
        return at >= address && at < address + bytes;
    }

    void put(long at, long[] pages) {
        System.arraycopy(pages, 0, handles, index(at), pages.length);
    }

    /** The pages that were at {@code at}, which are there no longer. */
    long[] take(long at, int pages) {
        int first = index(at);
        long[] taken = java.util.Arrays.copyOfRange(handles, first, first + pages);
        java.util.Arrays.fill(handles, first, first + pages, MemorySource.NONE);
        return taken;
    }

    private int index(long at) {
        return (int) ((at - address) / pageBytes);
    }
}
