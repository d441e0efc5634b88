// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolExhaustedException;
import io.memopt.allocator.pool.PoolStatistics;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory that is served to ND4J in the place of its own: device memory and page-locked memory from pools, mirrors from
 * pageable memory. What was served stays valid, and is freed rightly, after serving has ended.
 *
 * <p>Threading: safe.
 */
public final class ServedMemory {
    private static final Logger log = LoggerFactory.getLogger(ServedMemory.class);
    private static final long SERVED_NOT = 0;
    private static final int TRIES = 5;
    private static final long PAUSE_MILLIS = 50;

    private final PageableMirrors mirrors = new PageableMirrors();
    /** Native buffer object to the block behind it. */
    private final ConcurrentHashMap<Long, Long> buffers = new ConcurrentHashMap<>();
    /** All that were ever opened and may have live blocks. */
    private final List<DevicePools> pools = new CopyOnWriteArrayList<>();

    private final AtomicLong fallbacks = new AtomicLong();
    private volatile @Nullable DevicePools device;
    private volatile @Nullable DevicePools pinned;
    private volatile boolean mirroring;

    ServedMemory() {}

    void begin(
            @Nullable IntFunction<MemoryPool> devicePool,
            @Nullable IntFunction<MemoryPool> pinnedPool,
            boolean mirror) {
        device = devicePool == null ? null : open(devicePool);
        pinned = pinnedPool == null ? null : open(pinnedPool);
        mirroring = mirror;
    }

    private DevicePools open(IntFunction<MemoryPool> opener) {
        DevicePools opened = new DevicePools(opener);
        pools.add(opened);
        return opened;
    }

    /** Serves nothing new; what is unused is given back. */
    void end() {
        device = null;
        pinned = null;
        mirroring = false;
        pools.forEach(DevicePools::close);
        pools.removeIf(DevicePools::isUnused);
    }

    /** True while new memory comes from here. */
    boolean isServing() {
        return device != null || pinned != null || mirroring;
    }

    /** True when serving has ended and everything served is freed. */
    boolean isOver() {
        return !isServing()
                && mirrors.isUnused()
                && buffers.isEmpty()
                && pools.stream().allMatch(DevicePools::isUnused);
    }

    /** Figures of the device pools; nothing but zeros when device memory is ND4J's own. */
    public PoolStatistics deviceStatistics() {
        DevicePools serving = device;
        return serving == null ? PoolStatistics.NONE : serving.statistics();
    }

    /** Figures of the pools of page-locked memory. */
    public PoolStatistics pinnedStatistics() {
        DevicePools serving = pinned;
        return serving == null ? PoolStatistics.NONE : serving.statistics();
    }

    /** Pageable bytes that stand in for page-locked ones; hardly any of them are resident. */
    public long mirrorBytes() {
        return mirrors.liveBytes();
    }

    /** Requests that a pool failed to serve for reasons of its own, and that went to ND4J. */
    public long fallbacks() {
        return fallbacks.get();
    }

    /** Waits for the device and gives back what no array uses. */
    public void trim() {
        pools.forEach(DevicePools::trim);
    }

    // ---- for ServingOps; 0 means that ND4J must serve it itself

    long deviceBlock(int number, long bytes) {
        return block(device, number, bytes);
    }

    long pinnedBlock(int number, long bytes) {
        return block(pinned, number, bytes);
    }

    boolean mirrors() {
        return mirroring;
    }

    boolean servesDevice() {
        return device != null;
    }

    boolean servesPinned() {
        return pinned != null;
    }

    PageableMirrors pageable() {
        return mirrors;
    }

    /** As ND4J does for arrays when memory is short: lets the collector find dead ones, a few times. */
    long deviceBlockPatiently(int number, long bytes) {
        for (int attempt = 1; ; attempt++) {
            try {
                return deviceBlock(number, bytes);
            } catch (PoolExhaustedException e) {
                if (attempt == TRIES) {
                    throw e;
                }
                System.gc();
                pause();
            }
        }
    }

    /** The native buffer {@code key} now stands for {@code block}. */
    void bind(long key, long block) {
        buffers.put(key, block);
    }

    /** Ends what {@link #bind} began; 0 if nothing was bound. The block stays live. */
    long unbind(long key) {
        Long block = buffers.remove(key);
        return block == null ? SERVED_NOT : block;
    }

    boolean freeBlock(long address) {
        for (DevicePools each : pools) {
            if (each.free(address)) {
                return true;
            }
        }
        return false;
    }

    private long block(@Nullable DevicePools serving, int number, long bytes) {
        if (serving == null || bytes <= 0) {
            return SERVED_NOT;
        }
        try {
            return serving.allocate(number, bytes);
        } catch (PoolExhaustedException e) {
            if (e.limitBytes() != Long.MAX_VALUE) {
                throw e;
            }
            return leave(bytes, e);
        } catch (RuntimeException | LinkageError e) {
            return leave(bytes, e);
        }
    }

    private long leave(long bytes, Throwable why) {
        if (fallbacks.getAndIncrement() == 0) {
            log.warn(
                    "No pool could serve {} bytes: {}. ND4J gets them itself, and further ones without a word.",
                    bytes,
                    why.toString());
        } else {
            log.debug("No pool could serve {} bytes", bytes, why);
        }
        return SERVED_NOT;
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
