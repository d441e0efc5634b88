// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.pool.MemorySource;
import io.memopt.allocator.pool.SourceCalls;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;

/** Memory of the C library in the place of a device's, so that serving can be tried on ND4J's CPU backend. */
final class HostSegments implements MemorySource {
    private static final long ALIGNMENT = 512;

    private final Map<Long, Pointer> segments = new HashMap<>();
    private long obtained;
    private long returned;

    /** Not given back. */
    int segments() {
        return segments.size();
    }

    @Override
    public String name() {
        return "host";
    }

    @Override
    public long pageBytes() {
        return 1 << 20;
    }

    @Override
    public long deviceBytes() {
        return 1L << 30;
    }

    @Override
    public long reserve(long bytes) {
        Pointer raw = Pointer.malloc(bytes + ALIGNMENT);
        long address = (raw.address() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        segments.put(address, raw);
        obtained++;
        return address;
    }

    @Override
    public void release(long address, long bytes) {
        Pointer.free(segments.remove(address));
        returned++;
    }

    @Override
    public SourceCalls calls() {
        return new SourceCalls(obtained, 0, returned);
    }
}
