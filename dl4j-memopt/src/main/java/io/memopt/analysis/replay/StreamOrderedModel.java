// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * A stream-ordered pool as behind {@code cudaMallocAsync} (CUDA C++ Programming Guide, Stream Ordered Memory Allocator): best fit,
 * and since its release threshold is 0 by default, unused segments go back to the driver when streams are synchronised, here
 * after each iteration. NVIDIA does not publish sizes: 512 B rounding and segments of 32 MiB are assumptions.
 */
final class StreamOrderedModel implements AllocatorModel {
    private static final long ROUNDING = 512;
    private static final long SEGMENT = 32L << 20;

    private final SegmentHeap heap = new SegmentHeap();
    private long rounded;

    @Override
    public String name() {
        return "stream-ordered";
    }

    @Override
    public Object allocate(long bytes, boolean outlives) {
        long size = Rounding.up(bytes, ROUNDING);
        SegmentHeap.Chunk chunk = heap.takeBest(size);
        if (chunk == null) {
            chunk = heap.extend(Rounding.up(size, SEGMENT));
        }
        if (chunk.size() > size) {
            heap.split(chunk, size);
        }
        rounded += size;
        return chunk;
    }

    @Override
    public void free(Object handle) {
        SegmentHeap.Chunk chunk = (SegmentHeap.Chunk) handle;
        rounded -= chunk.size();
        heap.release(chunk);
    }

    @Override
    public void iterationEnded() {
        heap.trim();
    }

    @Override
    public long reservedBytes() {
        return heap.reservedBytes();
    }

    @Override
    public long roundedBytes() {
        return rounded;
    }

    @Override
    public long largestHoleBytes() {
        return heap.largestHoleBytes();
    }

    @Override
    public long driverCalls() {
        return heap.driverCalls();
    }
}
