// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.cuda.CudaPools;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.ServedMemory;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Serves ND4J's device memory from pools and its host mirrors from untouched memory, for the process, until {@link #close()}.
 * Memory that is in use then stays valid until it is freed.
 *
 * <p>Threading: safe.
 */
public final class MemoryService implements AutoCloseable {
    /** Enough for the ring buffers of a few prefetching iterators. */
    private static final long PINNED_KEPT_BYTES = 256L << 20;

    private final ServedMemory memory;

    private MemoryService(ServedMemory memory) {
        this.memory = memory;
    }

    /**
     * Begins to serve; hooks must be installed.
     *
     * @param limitBytes most bytes for the pool of each device
     * @throws HookException if the backend is not CUDA, or its calls cannot be interposed
     */
    public static MemoryService begin(DeviceMemory device, HostMirrors mirrors, long limitBytes) {
        if (!Nd4jFacts.isCuda()) {
            throw new HookException("deviceMemory=" + device + ", hostMirrors=" + mirrors
                    + " need a CUDA backend, found " + Nd4jFacts.backend() + ".");
        }
        return begin(
                device == DeviceMemory.POOL
                        ? number -> CudaPools.device(number, PoolOptions.UNLIMITED.withLimit(limitBytes))
                        : null,
                mirrors == HostMirrors.UNTOUCHED
                        ? number -> CudaPools.pinned(number, PoolOptions.UNLIMITED.withRetained(PINNED_KEPT_BYTES))
                        : null,
                mirrors == HostMirrors.UNTOUCHED);
    }

    /** As {@link #begin(DeviceMemory, HostMirrors, long)} with other pools, on any backend. */
    static MemoryService begin(
            @Nullable IntFunction<MemoryPool> device, @Nullable IntFunction<MemoryPool> pinned, boolean mirrors) {
        return new MemoryService(MemoryHooks.serve(device, pinned, mirrors));
    }

    /** Figures of the device pools. */
    public PoolStatistics pool() {
        return memory.deviceStatistics();
    }

    /** Pageable bytes in the place of page-locked ones. */
    public long mirrorBytes() {
        return memory.mirrorBytes();
    }

    /** Waits for the device and gives back what no array uses. */
    public void trim() {
        memory.trim();
    }

    /** What there is to say in a summary. */
    public List<String> notes() {
        List<String> notes = new ArrayList<>();
        PoolStatistics pool = pool();
        if (pool.allocations() > 0) {
            notes.add("Device memory pool: reserved " + ByteSize.format(pool.reservedBytes()) + ", at most "
                    + ByteSize.format(pool.reservedPeakBytes()) + "; in use " + ByteSize.format(pool.liveBytes())
                    + ", at most " + ByteSize.format(pool.livePeakBytes()) + "; "
                    + Count.of(pool.allocations(), "allocation")
                    + " with " + Count.of(pool.calls().total(), "driver call") + ", " + Count.of(pool.waits(), "wait")
                    + " for the device.");
        }
        if (mirrorBytes() > 0) {
            notes.add("Host mirrors: " + ByteSize.format(mirrorBytes()) + " of pageable memory, not page-locked.");
        }
        if (memory.fallbacks() > 0) {
            notes.add(Count.was(memory.fallbacks(), "allocation") + " left to ND4J, because no pool could serve them.");
        }
        return notes;
    }

    @Override
    public void close() {
        MemoryHooks.stopServing();
    }
}
