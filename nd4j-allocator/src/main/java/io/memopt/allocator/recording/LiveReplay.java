// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * Does the sums of {@link MemoryLedger} again, from events: totals and peaks of a recording at any of its moments.
 *
 * <p>Exact for a recording whose writer heard every event since it was made and has no gaps. Memory that was there before
 * {@code startNanos} is left out when it is freed. After a {@link #gap} the figures are estimates, see {@link #isExact()}.
 * Peaks are those of the order of events; with several allocating threads the ledger's may differ by what was in flight.
 *
 * <p>Memory: by owner and workspace instance, not by event. Threading: confined.
 */
public final class LiveReplay implements TraceVisitor {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final int KINDS = AllocationKind.values().length;

    private final long startNanos;
    private final Running[] inUse = totals();
    private final Running[] reserved = totals();
    private final long[] reservedByKind = new long[KINDS * SPACES.length];
    private final Map<Integer, Running> byOwner = new HashMap<>();
    private final Map<Integer, Map<Integer, Long>> arrays = new HashMap<>();
    private boolean exact = true;

    /**
     * Empty books.
     *
     * @param startNanos {@link TraceHeader#startNanos()}, or {@link Long#MIN_VALUE} to take every event at its word
     */
    public LiveReplay(long startNanos) {
        this.startNanos = startNanos;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        switch (EventCode.kind(code)) {
            case ALLOCATE -> allocated(code, timeNanos, owner, workspace, extra);
            case FREE -> freed(code, timeNanos, owner, workspace, bytes, extra);
            case SCOPE_RELEASE -> released(workspace, bytes);
            case RECLASSIFY -> reclassified(code, timeNanos, owner, (int) extra, bytes);
            default -> {}
        }
    }

    @Override
    public void gap(long events) {
        exact = false;
    }

    /** False after a gap, or when a workspace released other bytes than the events had put there. */
    public boolean isExact() {
        return exact;
    }

    /** Bytes of arrays at the last event. */
    public long inUseBytes(MemorySpace space) {
        return inUse[space.ordinal()].now;
    }

    /** Bytes held from the operating system or driver at the last event. */
    public long reservedBytes(MemorySpace space) {
        return reserved[space.ordinal()].now;
    }

    public long reservedBytes(AllocationKind kind, MemorySpace space) {
        return reservedByKind[kind.ordinal() * SPACES.length + space.ordinal()];
    }

    /** Largest {@link #inUseBytes} so far. */
    public long peakInUseBytes(MemorySpace space) {
        return inUse[space.ordinal()].peak;
    }

    /** {@link System#nanoTime()} of the event that made it. */
    public long peakInUseNanos(MemorySpace space) {
        return inUse[space.ordinal()].peakNanos;
    }

    /** Largest {@link #reservedBytes(MemorySpace)} so far. */
    public long peakReservedBytes(MemorySpace space) {
        return reserved[space.ordinal()].peak;
    }

    /** {@link System#nanoTime()} of the event that made it. */
    public long peakReservedNanos(MemorySpace space) {
        return reserved[space.ordinal()].peakNanos;
    }

    /**
     * What every owner has and had, in no particular order.
     *
     * @param owners resolves numbers, e.g. {@code reader::owner}
     */
    public List<OwnerUsage> usage(IntFunction<Owner> owners) {
        List<OwnerUsage> usage = new ArrayList<>();
        byOwner.forEach((key, running) -> usage.add(new OwnerUsage(
                owners.apply(key / SPACES.length),
                SPACES[key % SPACES.length],
                running.now,
                running.peak,
                running.allocations,
                running.allocatedBytes)));
        return usage;
    }

    private void allocated(int code, long time, int owner, int workspace, long rounded) {
        AllocationKind kind = EventCode.allocation(code);
        MemorySpace space = EventCode.space(code);
        if (kind.ownsMemory()) {
            reserved[space.ordinal()].add(rounded, time);
            reservedByKind[kind.ordinal() * SPACES.length + space.ordinal()] += rounded;
        }
        if (kind == AllocationKind.WORKSPACE_ARRAY) {
            arrays.computeIfAbsent(workspace, id -> new HashMap<>()).merge(key(owner, space), rounded, Long::sum);
        }
        if (kind != AllocationKind.WORKSPACE_BLOCK) {
            use(owner, space, rounded, time).allocated(1, rounded);
        }
    }

    private void freed(int code, long time, int owner, int workspace, long rounded, long age) {
        if (time - age < startNanos) {
            return;
        }
        AllocationKind kind = EventCode.allocation(code);
        MemorySpace space = EventCode.space(code);
        if (kind.ownsMemory()) {
            reserved[space.ordinal()].now -= rounded;
            reservedByKind[kind.ordinal() * SPACES.length + space.ordinal()] -= rounded;
        } else {
            arrays.computeIfAbsent(workspace, id -> new HashMap<>()).merge(key(owner, space), -rounded, Long::sum);
        }
        if (kind != AllocationKind.WORKSPACE_BLOCK) {
            unuse(key(owner, space), rounded);
        }
    }

    private void released(int workspace, long bytes) {
        Map<Integer, Long> ended = workspace == WorkspaceTable.NONE ? null : arrays.remove(workspace);
        long sum = 0;
        if (ended != null) {
            ended.forEach(this::unuse);
            sum = ended.values().stream().mapToLong(Long::longValue).sum();
        }
        exact &= sum == bytes;
    }

    private void reclassified(int code, long time, int owner, int before, long bytes) {
        if (EventCode.allocation(code) != AllocationKind.WORKSPACE_BLOCK) {
            MemorySpace space = EventCode.space(code);
            unuse(key(before, space), bytes).allocated(-1, -bytes);
            use(owner, space, bytes, time).allocated(1, bytes);
        }
    }

    private Running use(int owner, MemorySpace space, long bytes, long time) {
        inUse[space.ordinal()].add(bytes, time);
        Running running = byOwner.computeIfAbsent(key(owner, space), id -> new Running());
        running.add(bytes, time);
        return running;
    }

    private Running unuse(int key, long bytes) {
        inUse[key % SPACES.length].now -= bytes;
        Running running = byOwner.computeIfAbsent(key, id -> new Running());
        running.now -= bytes;
        return running;
    }

    private static int key(int owner, MemorySpace space) {
        return owner * SPACES.length + space.ordinal();
    }

    private static Running[] totals() {
        Running[] totals = new Running[SPACES.length];
        for (int i = 0; i < totals.length; i++) {
            totals[i] = new Running();
        }
        return totals;
    }

    /** A sum, its largest value, and what flowed into it. */
    private static final class Running {
        private long now;
        private long peak;
        private long peakNanos;
        private long allocations;
        private long allocatedBytes;

        void add(long bytes, long time) {
            now += bytes;
            if (now > peak) {
                peak = now;
                peakNanos = time;
            }
        }

        void allocated(int count, long bytes) {
            allocations += count;
            allocatedBytes += bytes;
        }
    }
}
