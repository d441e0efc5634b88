// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.ref.Cleaner;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;

/**
 * Copies small arrays to the device in the order of the operations, so that nobody has to wait for those that still read what lay
 * there. ND4J makes some of them for each layer, scalars mostly, and may change the source as soon as the stream that it asked for
 * is idle: the bytes are therefore first brought into page-locked memory, which copies go through as through a ring. Such an array
 * is afterwards what the result of an operation is: written by the stream of the operations, at some time.
 *
 * <pre>
 *   ring | done | done | on its way | on its way | free ...      at its end: wait for the stream, begin anew
 * </pre>
 *
 * <p>Threading: one for each thread.
 */
final class OrderedUploads {
    /** Larger copies are few, and take longer than the wait that they would be spared. */
    static final long MOST_BYTES = 4096;

    /** Some thousand scalars. */
    private static final long RING_BYTES = 256 << 10;

    private static final long ALIGNMENT = 64;
    private static final int HOST_TO_DEVICE = 1;
    private static final Cleaner CLEANER = Cleaner.create();
    private static final ThreadLocal<@Nullable OrderedUploads> OF_THREAD = new ThreadLocal<>();

    private final NativeOps ops;
    private final Supplier<Pointer> streams;
    private final Pointer ring;
    private final long ringBytes;
    private long used;
    private @Nullable Pointer stream;

    private OrderedUploads(NativeOps ops, Supplier<Pointer> streams, Pointer ring, long ringBytes) {
        this.ops = ops;
        this.streams = streams;
        this.ring = ring;
        this.ringBytes = ringBytes;
        CLEANER.register(this, () -> ops.freeHost(ring));
    }

    /**
     * That of the calling thread; null when there is no page-locked memory for it.
     *
     * @param ops ND4J's own, or what serves memory before it
     */
    static @Nullable OrderedUploads ofThread(NativeOps ops) {
        OrderedUploads known = OF_THREAD.get();
        if (known == null) {
            NativeOps own = ops instanceof ServingOps serving ? serving.target() : ops;
            known = open(own, OperationStream::ofThread, RING_BYTES);
            OF_THREAD.set(known);
        }
        return known;
    }

    /** {@code streams} tells the stream of the operations, {@code ringBytes} is at least {@link #MOST_BYTES}. */
    static @Nullable OrderedUploads open(NativeOps ops, Supplier<Pointer> streams, long ringBytes) {
        Pointer ring = ops.mallocHost(ringBytes, 0);
        return ring == null || ring.address() == 0 ? null : new OrderedUploads(ops, streams, ring, ringBytes);
    }

    /**
     * As {@link NativeOps#memcpyAsync}, on the stream of the operations; the source may change once this returns.
     *
     * @param bytes at most {@link #MOST_BYTES}
     */
    int copy(Pointer to, Pointer from, long bytes) {
        Pointer now = streams.get();
        Pointer before = stream;
        if (before != null && (used + bytes > ringBytes || before.address() != now.address())) {
            ops.streamSynchronize(before);
            used = 0;
        }
        stream = now;
        Pointer place = new PagedPointer(ring.address() + used);
        Pointer.memcpy(place, from, bytes);
        used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return ops.memcpyAsync(to, place, bytes, HOST_TO_DEVICE, now);
    }
}
