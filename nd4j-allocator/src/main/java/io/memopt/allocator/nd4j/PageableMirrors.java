// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;

/**
 * Host memory for mirrors of device memory that nobody looks at. It comes from the C library and is not touched here: the
 * operating system gives it pages when something is written there, which in training hardly ever happens. Copies to and from
 * it are correct, only slower than to page-locked memory.
 *
 * <p>Threading: safe.
 */
final class PageableMirrors {
    /** As workspaces align at most. */
    private static final long ALIGNMENT = 64;

    private final ConcurrentHashMap<Long, Mirror> live = new ConcurrentHashMap<>();
    private final AtomicLong bytes = new AtomicLong();

    /** Address of {@code size} bytes, aligned to 64; 0 when there is no memory. */
    long allocate(long size) {
        Pointer raw = Pointer.malloc(size + ALIGNMENT);
        if (raw == null || raw.address() == 0) {
            return 0;
        }
        long address = aligned(raw.address());
        live.put(address, new Mirror(raw, size));
        bytes.addAndGet(size);
        return address;
    }

    /** The next multiple of 64. */
    static long aligned(long value) {
        return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    boolean owns(long address) {
        return live.containsKey(address);
    }

    /** False if {@code address} is none of these. */
    boolean free(long address) {
        Mirror mirror = live.remove(address);
        if (mirror == null) {
            return false;
        }
        bytes.addAndGet(-mirror.bytes);
        Pointer.free(mirror.raw);
        return true;
    }

    boolean isUnused() {
        return live.isEmpty();
    }

    long liveBytes() {
        return bytes.get();
    }

    private record Mirror(Pointer raw, long bytes) {}
}
