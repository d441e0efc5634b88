// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;

/**
 * Waits for the device that need not be made where ND4J makes them. It waits for all operations whenever a workspace is left, some
 * hundred times in a step of a deep network, so that device and host take turns instead of working at the same time. Arrays of an
 * arena take the bytes of earlier ones in the order of the operations, with or without such a wait; it is made when the outermost
 * workspace is left, and before anything that goes another way than the stream of the operations.
 *
 * <p>Threading: one for each thread; streams are a thread's own.
 */
final class PutOffWaits {
    private static final ThreadLocal<PutOffWaits> OF_THREAD =
            ThreadLocal.withInitial(() -> new PutOffWaits(OperationStream::ofThread));
    /** Nobody has to look while nothing was ever put off. */
    private static volatile boolean used;

    private final Supplier<Pointer> streams;
    private boolean inside;
    private @Nullable Pointer owed;

    /** {@code streams} tells the stream of the operations. */
    PutOffWaits(Supplier<Pointer> streams) {
        this.streams = streams;
    }

    /** Those of the calling thread; null while no thread has any. */
    static @Nullable PutOffWaits ofThread() {
        return used ? OF_THREAD.get() : null;
    }

    /** Leaves a workspace whose arrays lie in an arena, while another such workspace stays open. */
    static void leaving(Runnable close) {
        used = true;
        OF_THREAD.get().during(close);
    }

    /** Waits for the stream of the operations that {@code close} asks for are put off. */
    void during(Runnable close) {
        inside = true;
        try {
            close.run();
        } finally {
            inside = false;
        }
    }

    /** Asked before a wait for {@code stream}: true when it is put off. Otherwise it is made, and nothing is owed for that stream. */
    boolean takes(@Nullable Pointer stream) {
        if (stream == null) {
            return false;
        }
        if (inside && stream.address() == streams.get().address()) {
            owed = stream;
            return true;
        }
        if (isOwed(stream)) {
            owed = null;
        }
        return false;
    }

    /** Something is about to be done elsewhere than on the stream owed for: on {@code stream}, null for none in particular. */
    void pay(NativeOps ops, @Nullable Pointer stream) {
        Pointer debt = owed;
        if (debt != null && !isOwed(stream)) {
            owed = null;
            ops.streamSynchronize(debt);
        }
    }

    private boolean isOwed(@Nullable Pointer stream) {
        Pointer debt = owed;
        return debt != null && stream != null && stream.address() == debt.address();
    }
}
