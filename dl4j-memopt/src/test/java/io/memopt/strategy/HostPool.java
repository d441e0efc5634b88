// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.MemorySource;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.allocator.pool.SourceCalls;
import io.memopt.allocator.pool.StreamEvents;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;

/** A pool whose device is the C library, so that ND4J's CPU backend can be served from it. Its memory is never zero at first. */
final class HostPool implements MemorySource {
    private static final long ALIGNMENT = 512;
    private static final int GARBAGE = 0x7F;

    private final Map<Long, Pointer> segments = new HashMap<>();
    private long calls;

    static MemoryPool open(PoolOptions options) {
        return new MemoryPool(new HostPool(), StreamEvents.SYNCHRONOUS, options);
    }

    @Override
    public String name() {
        return "host";
    }

    @Override
    public long pageBytes() {
        return 2 << 20;
    }

    @Override
    public long deviceBytes() {
        return 1L << 30;
    }

    @Override
    public long reserve(long bytes) {
        calls++;
        Pointer raw = Pointer.malloc(bytes + ALIGNMENT);
        Pointer.memset(raw, GARBAGE, bytes + ALIGNMENT);
        long address = (raw.address() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        segments.put(address, raw);
        return address;
    }

    @Override
    public void release(long address, long bytes) {
        calls++;
        Pointer.free(segments.remove(address));
    }

    @Override
    public SourceCalls calls() {
        return new SourceCalls(calls, 0, 0);
    }
}
