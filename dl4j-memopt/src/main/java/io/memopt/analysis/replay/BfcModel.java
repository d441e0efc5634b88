// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * TensorFlow's best-fit-with-coalescing allocator while it may grow ({@code tsl/framework/bfc_allocator.cc}): sizes are rounded
 * up to 256 B; a chunk is cut when at least twice as large as needed or when more than 128 MiB would be left unused; regions
 * begin at 2 MiB and double each time one is added. Bins only speed its search up and are left out.
 */
final class BfcModel implements AllocatorModel {
    private static final long MIB = 1 << 20;
    private static final long ROUNDING = 256;
    private static final long FIRST_REGION = 2 * MIB;
    private static final long MOST_UNUSED = 128 * MIB;

    private final SegmentHeap heap = new SegmentHeap();
    private long nextRegion = FIRST_REGION;
    private long rounded;

    @Override
    public String name() {
        return "bfc";
    }

    @Override
    public Object allocate(long bytes, boolean outlives) {
        long size = Rounding.up(bytes, ROUNDING);
        SegmentHeap.Chunk chunk = heap.takeBest(size);
        if (chunk == null) {
            boolean grown = false;
            while (nextRegion < size) {
                nextRegion = Math.multiplyExact(nextRegion, 2);
                grown = true;
            }
            chunk = heap.extend(nextRegion);
            if (!grown) {
                nextRegion = Math.multiplyExact(nextRegion, 2);
            }
        }
        if (chunk.size() >= 2 * size || chunk.size() - size >= MOST_UNUSED) {
            heap.split(chunk, size);
        }
        rounded += chunk.size();
        return chunk;
    }

    @Override
    public void free(Object handle) {
        SegmentHeap.Chunk chunk = (SegmentHeap.Chunk) handle;
        rounded -= chunk.size();
        heap.release(chunk);
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
