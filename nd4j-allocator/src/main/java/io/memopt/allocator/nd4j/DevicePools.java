// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.pool.StreamEvents;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;

/**
 * One pool for each device, opened when it is first needed. ND4J does not tell which stream will use a block, so all of them
 * are of {@link StreamEvents#EVERY_STREAM}.
 *
 * <p>Threading: safe.
 */
final class DevicePools {
    private final ConcurrentHashMap<Integer, MemoryPool> pools = new ConcurrentHashMap<>();
    private final IntFunction<MemoryPool> opener;

    DevicePools(IntFunction<MemoryPool> opener) {
        this.opener = opener;
    }

    /**
     * Address of a block on {@code device}.
     *
     * @throws io.memopt.allocator.pool.PoolExhaustedException if there is none
     * @throws RuntimeException if the device cannot be used that way
     */
    long allocate(int device, long bytes) {
        return pools.computeIfAbsent(device, opener::apply).allocate(bytes, StreamEvents.EVERY_STREAM);
    }

    /** False if {@code address} is no block of these pools. */
    boolean free(long address) {
        for (MemoryPool pool : pools.values()) {
            if (pool.free(address, StreamEvents.EVERY_STREAM)) {
                return true;
            }
        }
        return false;
    }

    boolean isUnused() {
        return pools.values().stream().allMatch(pool -> pool.statistics().liveBlocks() == 0);
    }

    PoolStatistics statistics() {
        return pools.values().stream().map(MemoryPool::statistics).reduce(PoolStatistics.NONE, PoolStatistics::plus);
    }

    void trim() {
        pools.values().forEach(MemoryPool::trim);
    }

    /** Live blocks stay valid until they are freed. */
    void close() {
        pools.values().forEach(MemoryPool::close);
    }
}
