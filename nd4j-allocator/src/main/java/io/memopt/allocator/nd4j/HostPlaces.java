// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/**
 * Places on the host for large arrays of the device that no workspace holds: parameters, gradients and updater state foremost. ND4J
 * makes one of each array that is viewed and fills it with zeros, so that the system gives it pages, although training reads
 * there no more than a few numbers. A place from here is not touched before it is read.
 *
 * <p>A place lives as long as the native buffer, also when that has grown out of it. Threading: safe.
 */
final class HostPlaces {
    /** Below, the C library does not give memory a mapping of its own, and what is saved is little. */
    static final long LEAST_BYTES = 1 << 20;

    private final Map<Long, Place> byBuffer = new ConcurrentHashMap<>();

    /** {@code address}: 0 until somebody asked for the place. */
    private record Place(long elements, long bytes, long address) {}

    /** A native buffer without a place was made; {@code width} is that of an element, 0 if they have none. */
    void created(@Nullable OpaqueDataBuffer buffer, long elements, int width) {
        if (buffer != null && elements * width >= LEAST_BYTES) {
            byBuffer.put(buffer.address(), new Place(elements, elements * width, 0));
        }
    }

    /** Has {@code ops} give {@code buffer} a place out of {@code memory}; false when ND4J is to make one, or has. */
    boolean give(@Nullable OpaqueDataBuffer buffer, PageableMirrors memory, NativeOps ops) {
        if (buffer == null || byBuffer.isEmpty()) {
            return false;
        }
        Place known = byBuffer.get(buffer.address());
        long address = known == null || known.address() != 0 ? 0 : memory.allocate(known.bytes());
        if (known == null || address == 0) {
            return false;
        }
        byBuffer.put(buffer.address(), new Place(known.elements(), known.bytes(), address));
        ops.dbSetPrimaryBuffer(buffer, new PagedPointer(address), known.elements());
        return true;
    }

    /** A native buffer goes; returns the address of its place, 0 if it has none from here. */
    long gone(@Nullable OpaqueDataBuffer buffer) {
        Place known = buffer == null || byBuffer.isEmpty() ? null : byBuffer.remove(buffer.address());
        return known == null ? 0 : known.address();
    }
}
