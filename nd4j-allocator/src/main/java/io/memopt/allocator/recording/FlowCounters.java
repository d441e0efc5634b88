// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TransferDirection;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Monotonic counts of what flowed since the start.
 *
 * <p>Threading: allocated and freed bytes are written under the lock of the {@link Journals}, the rest by any thread; all may be
 * read at any time.
 */
public final class FlowCounters {
    /** Copies of fewer bytes count as tiny: their cost is the call, not the bytes. */
    public static final long TINY_BYTES = 4096;

    private static final int SPACES = MemorySpace.values().length;

    /** Count, allocated bytes and freed bytes of a kind in a space lie together. */
    private static final int STRIDE = 4;

    private static final int COUNT = 0;
    private static final int ALLOCATED = 1;
    private static final int FREED = 2;

    private final AtomicLongArray memory = new AtomicLongArray(AllocationKind.values().length * SPACES * STRIDE);
    private final LongAdder[] failures = adders(SPACES);
    private final LongAdder[] transfers = adders(TransferDirection.values().length);
    private final LongAdder[] transferredBytes = adders(TransferDirection.values().length);
    private final LongAdder[] transferNanos = adders(TransferDirection.values().length);
    private final LongAdder[] tinyTransfers = adders(TransferDirection.values().length);
    private final LongAdder synchronizations = new LongAdder();
    private final LongAdder[] collections = adders(2);
    private final LongAdder[] collectionNanos = adders(2);

    FlowCounters() {}

    public long allocations(AllocationKind kind, MemorySpace space) {
        return memory.get(index(kind, space) + COUNT);
    }

    public long allocatedBytes(AllocationKind kind, MemorySpace space) {
        return memory.get(index(kind, space) + ALLOCATED);
    }

    public long freedBytes(AllocationKind kind, MemorySpace space) {
        return memory.get(index(kind, space) + FREED);
    }

    /** Allocations that the operating system or driver refused. */
    public long failures(MemorySpace space) {
        return failures[space.ordinal()].sum();
    }

    public long transfers(TransferDirection direction) {
        return transfers[direction.ordinal()].sum();
    }

    public long transferredBytes(TransferDirection direction) {
        return transferredBytes[direction.ordinal()].sum();
    }

    /** Copies of fewer than {@link #TINY_BYTES}; they are part of {@link #transfers}. */
    public long tinyTransfers(TransferDirection direction) {
        return tinyTransfers[direction.ordinal()].sum();
    }

    /** Times that a thread waited for all work of a stream of a device. */
    public long synchronizations() {
        return synchronizations.sum();
    }

    /** Time that callers spent in copies. */
    public long transferNanos(TransferDirection direction) {
        return transferNanos[direction.ordinal()].sum();
    }

    /** Java garbage collections; {@code forced} ones were asked for by {@link System#gc()}. */
    public long collections(boolean forced) {
        return collections[forced ? 1 : 0].sum();
    }

    public long collectionNanos(boolean forced) {
        return collectionNanos[forced ? 1 : 0].sum();
    }

    void allocated(AllocationKind kind, MemorySpace space, long bytes) {
        int index = index(kind, space);
        add(index + COUNT, 1);
        add(index + ALLOCATED, bytes);
    }

    void freed(AllocationKind kind, MemorySpace space, long bytes) {
        add(index(kind, space) + FREED, bytes);
    }

    /** There is one writer at a time, so that no write need wait for those before it. */
    private void add(int index, long value) {
        memory.setOpaque(index, memory.getPlain(index) + value);
    }

    void failed(MemorySpace space) {
        failures[space.ordinal()].increment();
    }

    void transferred(TransferDirection direction, long bytes, long nanos) {
        transfers[direction.ordinal()].increment();
        transferredBytes[direction.ordinal()].add(bytes);
        transferNanos[direction.ordinal()].add(nanos);
        if (bytes < TINY_BYTES) {
            tinyTransfers[direction.ordinal()].increment();
        }
    }

    void synchronizedStream() {
        synchronizations.increment();
    }

    void collected(boolean forced, long nanos) {
        collections[forced ? 1 : 0].increment();
        collectionNanos[forced ? 1 : 0].add(nanos);
    }

    private static int index(AllocationKind kind, MemorySpace space) {
        return (kind.ordinal() * SPACES + space.ordinal()) * STRIDE;
    }

    private static LongAdder[] adders(int n) {
        LongAdder[] adders = new LongAdder[n];
        for (int i = 0; i < n; i++) {
            adders[i] = new LongAdder();
        }
        return adders;
    }
}
