// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * PyTorch's caching allocator with its default settings: best fit with splitting and joining in two pools, nothing given back.
 *
 * <p>Constants of {@code c10/cuda/CUDACachingAllocator.cpp}: sizes are rounded up to 512 B; requests of up to 1 MiB share
 * segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones get a segment of their own rounded up to 2 MiB; a
 * remainder is cut off when it is at least 512 B in the small pool, more than 1 MiB in the large one.
 */
final class CachingModel implements AllocatorModel {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;
    private static final long ROUNDING = 512;
    private static final long SMALL = MIB;
    private static final long SMALL_SEGMENT = 2 * MIB;
    private static final long LARGE_FROM = 10 * MIB;
    private static final long LARGE_SEGMENT = 20 * MIB;
    private static final long LARGE_ROUNDING = 2 * MIB;

    private final SegmentHeap small = new SegmentHeap();
    private final SegmentHeap large = new SegmentHeap();
    private long rounded;

    @Override
    public String name() {
        return "caching";
    }

    @Override
    public Object allocate(long bytes, boolean outlives) {
        long size = Rounding.up(bytes, ROUNDING);
        boolean isSmall = size <= SMALL;
        SegmentHeap heap = isSmall ? small : large;
        SegmentHeap.Chunk chunk = heap.takeBest(size);
        if (chunk == null) {
            chunk = heap.extend(segment(size));
        }
        long rest = chunk.size() - size;
        if (isSmall ? rest >= ROUNDING : rest > SMALL) {
            heap.split(chunk, size);
        }
        rounded += chunk.size();
        return chunk;
    }

    private static long segment(long size) {
        if (size <= SMALL) {
            return SMALL_SEGMENT;
        }
        return size < LARGE_FROM ? LARGE_SEGMENT : Rounding.up(size, LARGE_ROUNDING);
    }

    @Override
    public void free(Object handle) {
        SegmentHeap.Chunk chunk = (SegmentHeap.Chunk) handle;
        rounded -= chunk.size();
        chunk.heap.release(chunk);
    }

    @Override
    public long reservedBytes() {
        return small.reservedBytes() + large.reservedBytes();
    }

    @Override
    public long roundedBytes() {
        return rounded;
    }

    @Override
    public long largestHoleBytes() {
        return Math.max(small.largestHoleBytes(), large.largestHoleBytes());
    }

    @Override
    public long driverCalls() {
        return small.driverCalls() + large.driverCalls();
    }
}
