// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Binary buddies (K. C. Knowlton, A fast storage allocator, Comm. ACM 8 (1965) 623-624, doi:10.1145/365628.365655): sizes are
 * powers of two from 256 B; a block is halved until it fits, and joined with its buddy when both are free. Segments of 32
 * MiB, or one block for what is larger; nothing is given back.
 */
final class BuddyModel implements AllocatorModel {
    private static final int MIN_ORDER = 8;
    private static final int SEGMENT_ORDER = 25;
    private static final int MAX_ORDER = 62;

    private final List<TreeSet<Long>> free = new ArrayList<>();
    private long nextSegment;
    private long reserved;
    private long rounded;
    private long driverCalls;

    BuddyModel() {
        for (int order = 0; order <= MAX_ORDER; order++) {
            free.add(new TreeSet<>());
        }
    }

    /** {@code top} is the order of the segment: a block of that order has no buddy. */
    private record Block(long address, int order, int top) {}

    @Override
    public String name() {
        return "buddy";
    }

    @Override
    public Object allocate(long bytes, boolean outlives) {
        int order = Math.max(MIN_ORDER, 64 - Long.numberOfLeadingZeros(bytes - 1));
        rounded += 1L << order;
        if (order > SEGMENT_ORDER) {
            return own(order);
        }
        int from = order;
        while (from <= SEGMENT_ORDER && free.get(from).isEmpty()) {
            from++;
        }
        long address;
        if (from > SEGMENT_ORDER) {
            from = SEGMENT_ORDER;
            address = nextSegment;
            nextSegment += 1L << SEGMENT_ORDER;
            reserved += 1L << SEGMENT_ORDER;
            driverCalls++;
        } else {
            address = free.get(from).pollFirst();
        }
        while (from > order) {
            from--;
            free.get(from).add(address + (1L << from));
        }
        return new Block(address, order, SEGMENT_ORDER);
    }

    /** A segment for one block; kept for the next of its size. */
    private Block own(int order) {
        Long kept = free.get(order).pollFirst();
        if (kept == null) {
            // Their addresses never meet those of buddies: nothing of this order is ever joined or cut.
            kept = -1L - driverCalls;
            reserved += 1L << order;
            driverCalls++;
        }
        return new Block(kept, order, order);
    }

    @Override
    public void free(Object handle) {
        Block block = (Block) handle;
        rounded -= 1L << block.order;
        long address = block.address;
        int order = block.order;
        while (order < block.top && free.get(order).remove(address ^ 1L << order)) {
            address &= ~(1L << order);
            order++;
        }
        free.get(order).add(address);
    }

    @Override
    public long reservedBytes() {
        return reserved;
    }

    @Override
    public long roundedBytes() {
        return rounded;
    }

    @Override
    public long largestHoleBytes() {
        for (int order = MAX_ORDER; order >= MIN_ORDER; order--) {
            if (!free.get(order).isEmpty()) {
                return 1L << order;
            }
        }
        return 0;
    }

    @Override
    public long driverCalls() {
        return driverCalls;
    }
}
