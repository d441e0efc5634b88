// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.List;

/**
 * Growth by segments, for sources whose memory stays at its address. A segment is as large as the block that it was obtained
 * for, rounded to pages, and is given back when nothing in it is in use. Beyond {@value #SLACK} times what was ever
 * live, unused segments are given back before another is obtained.
 */
final class SegmentGrowth implements Growth {
    private static final double SLACK = 1.04;

    private final MemorySource source;
    private final FreeList ready;
    private final long limitBytes;
    private long reservedBytes;

    SegmentGrowth(MemorySource source, FreeList ready, long limitBytes) {
        this.source = source;
        this.ready = ready;
        this.limitBytes = limitBytes;
    }

    @Override
    public long reservedBytes() {
        return reservedBytes;
    }

    @Override
    public boolean grow(long bytes, long livePeak) {
        long size = (bytes + source.pageBytes() - 1) / source.pageBytes() * source.pageBytes();
        giveBack(reservedBytes + size - Math.min(limitBytes, (long) (SLACK * livePeak)));
        if (size > limitBytes - reservedBytes) {
            return false;
        }
        long address = source.reserve(size);
        if (address == MemorySource.NONE) {
            shrink(0);
            address = source.reserve(size);
        }
        if (address == MemorySource.NONE) {
            return false;
        }
        reservedBytes += size;
        ready.add(new Block(address, size, null));
        return true;
    }

    @Override
    public void shrink(long keepBytes) {
        giveBack(ready.bytes() - keepBytes);
    }

    @Override
    public void close() {
        shrink(0);
    }

    /** Unused segments, largest first, until {@code bytes} are given back. */
    private void giveBack(long bytes) {
        long left = bytes;
        List<Block> unused = ready.blocks(block -> block.before == null && block.after == null);
        for (int i = unused.size() - 1; i >= 0 && left > 0; i--) {
            Block segment = unused.get(i);
            ready.remove(segment);
            source.release(segment.address, segment.bytes);
            reservedBytes -= segment.bytes;
            left -= segment.bytes;
        }
    }
}
