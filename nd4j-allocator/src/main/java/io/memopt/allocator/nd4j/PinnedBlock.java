// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Page-locked memory of the host, which a device reaches by the same address. It comes through ND4J's native calls, so that it is in
 * the books, and from the pool of page-locked memory where there is one. On a CPU backend it is ordinary memory that no books have.
 *
 * <p>Threading: safe. Nobody frees it but {@link #close()}.
 */
public final class PinnedBlock implements AutoCloseable {
    private static final Set<Long> LIVE = ConcurrentHashMap.newKeySet();

    private final Pointer memory;
    private final long bytes;
    private boolean closed;

    private PinnedBlock(Pointer memory, long bytes) {
        this.memory = memory;
        this.bytes = bytes;
        LIVE.add(memory.address());
    }

    /** A block of {@code bytes}, whose content is undefined; empty if the system has none. */
    public static Optional<PinnedBlock> of(long bytes) {
        Pointer memory = Nd4jFacts.isCuda() ? pinned(bytes) : Pointer.malloc(bytes);
        return memory == null || memory.address() == 0
                ? Optional.empty()
                : Optional.of(new PinnedBlock(new PagedPointer(memory.address()), bytes));
    }

    /** Null where the driver refuses: ND4J's call then answers any address, and leaves an error that the next operation would throw. */
    private static @Nullable Pointer pinned(long bytes) {
        Pointer memory = ops().mallocHost(bytes, 0);
        if (ops().lastErrorCode() == 0) {
            return memory;
        }
        ops().lastErrorMessage(); // takes the error away
        return null;
    }

    /** Whether a live block begins at {@code address}, which is its key in the books. */
    public static boolean begins(long address) {
        return LIVE.contains(address);
    }

    public long address() {
        return memory.address();
    }

    public long bytes() {
        return bytes;
    }

    Pointer pointer() {
        return memory;
    }

    /** Frees it; nothing may be using it. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            LIVE.remove(memory.address());
            free();
        }
    }

    private void free() {
        if (Nd4jFacts.isCuda()) {
            ops().freeHost(memory);
        } else {
            Pointer.free(memory);
        }
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }
}
