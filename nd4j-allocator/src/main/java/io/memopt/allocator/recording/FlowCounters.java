// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TransferDirection;
import java.util.concurrent.atomic.LongAdder;

/** Monotonic counts of what flowed since the start. Threading: any thread; sums are exact once writers rest. */
public final class FlowCounters {
    private static final int SPACES = MemorySpace.values().length;

    private final LongAdder[] allocations = adders(AllocationKind.values().length * SPACES);
    private final LongAdder[] allocatedBytes = adders(AllocationKind.values().length * SPACES);
    private final LongAdder[] freedBytes = adders(AllocationKind.values().length * SPACES);
    private final LongAdder[] failures = adders(SPACES);
    private final LongAdder[] transfers = adders(TransferDirection.values().length);
    private final LongAdder[] transferredBytes = adders(TransferDirection.values().length);
    private final LongAdder[] transferNanos = adders(TransferDirection.values().length);
    private final LongAdder[] collections = adders(2);
    private final LongAdder[] collectionNanos = adders(2);

    FlowCounters() {}

    public long allocations(AllocationKind kind, MemorySpace space) {
        return allocations[index(kind, space)].sum();
    }

    public long allocatedBytes(AllocationKind kind, MemorySpace space) {
        return allocatedBytes[index(kind, space)].sum();
    }

    public long freedBytes(AllocationKind kind, MemorySpace space) {
        return freedBytes[index(kind, space)].sum();
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
        allocations[index(kind, space)].increment();
        allocatedBytes[index(kind, space)].add(bytes);
    }

    void freed(AllocationKind kind, MemorySpace space, long bytes) {
        freedBytes[index(kind, space)].add(bytes);
    }

    void failed(MemorySpace space) {
        failures[space.ordinal()].increment();
    }

    void transferred(TransferDirection direction, long bytes, long nanos) {
        transfers[direction.ordinal()].increment();
        transferredBytes[direction.ordinal()].add(bytes);
        transferNanos[direction.ordinal()].add(nanos);
    }

    void collected(boolean forced, long nanos) {
        collections[forced ? 1 : 0].increment();
        collectionNanos[forced ? 1 : 0].add(nanos);
    }

    private static int index(AllocationKind kind, MemorySpace space) {
        return kind.ordinal() * SPACES + space.ordinal();
    }

    private static LongAdder[] adders(int n) {
        LongAdder[] adders = new LongAdder[n];
        for (int i = 0; i < n; i++) {
            adders[i] = new LongAdder();
        }
        return adders;
    }
}
