// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import org.jspecify.annotations.Nullable;

/**
 * One thing that happened to memory. Times are {@link System#nanoTime()} values, comparable within one JVM only; sizes
 * are bytes. The readable form of what {@link EventSink} receives: made when reading, never on the hot path.
 */
public sealed interface MemoryEvent {

    EventKind kind();

    long timeNanos();

    /** {@link Thread#getId()} of the acting thread. */
    long thread();

    /** Number in the {@link OwnerTable} of the recording. */
    int owner();

    /**
     * Bytes became live.
     *
     * @param workspace workspace instance that the bytes belong to, 0 for none
     * @param address start address; 0 if unknown
     * @param requestedBytes what the caller asked for
     * @param roundedBytes what was taken, never less than requested
     */
    record Allocate(
            long timeNanos,
            long thread,
            int owner,
            int workspace,
            AllocationKind allocation,
            MemorySpace space,
            long address,
            long requestedBytes,
            long roundedBytes)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.ALLOCATE;
        }
    }

    /**
     * Memory of its own was given back. Workspace arrays have no such event: {@link ScopeRelease} ends them all. The
     * owner is that of the allocation; the thread is the one that freed.
     *
     * @param roundedBytes as in the {@link Allocate} it ends
     * @param ageNanos time since that allocation
     */
    record Free(
            long timeNanos,
            long thread,
            int owner,
            int workspace,
            AllocationKind allocation,
            MemorySpace space,
            long address,
            long roundedBytes,
            long ageNanos)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.FREE;
        }
    }

    /** A copy of {@code bytes} that took {@code durationNanos} for the caller (an asynchronous copy may go on). */
    record Transfer(
            long timeNanos,
            long thread,
            int owner,
            TransferDirection direction,
            @Nullable MemorySpace hostEnd,
            long address,
            long bytes,
            long durationNanos)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.TRANSFER;
        }
    }

    /** A workspace scope was opened (not: re-entered or borrowed) for its {@code generation}-th time. */
    record ScopeEnter(long timeNanos, long thread, int owner, int workspace, long generation, long reservedBytes)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.SCOPE_ENTER;
        }
    }

    /**
     * All {@link AllocationKind#WORKSPACE_ARRAY} allocations of a workspace instance ended at once.
     *
     * @param arrayBytes rounded bytes of the arrays that ended
     * @param reservedBytes size of the block they lay in
     */
    record ScopeRelease(long timeNanos, long thread, int owner, int workspace, long arrayBytes, long reservedBytes)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.SCOPE_RELEASE;
        }
    }

    /** The thread went on to another layer or phase: from now on it acts for {@code owner}. */
    record Context(long timeNanos, long thread, int owner) implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.CONTEXT;
        }
    }

    /** A training iteration ended; {@code owner} names the network. */
    record Iteration(long timeNanos, long thread, int owner, long iteration, long epoch) implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.ITERATION;
        }
    }

    /** The live allocation at {@code address} turned out to belong to {@code owner}. */
    record Reclassify(
            long timeNanos,
            long thread,
            int owner,
            AllocationKind allocation,
            MemorySpace space,
            long address,
            long roundedBytes,
            int previousOwner)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.RECLASSIFY;
        }
    }

    /** The operating system or driver refused {@code requestedBytes}. */
    record AllocationFailure(
            long timeNanos, long thread, int owner, int workspace, MemorySpace space, long requestedBytes)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.ALLOCATION_FAILURE;
        }
    }

    /** A Java garbage collection ended; {@code forced} when someone called {@link System#gc()}. */
    record GarbageCollection(long timeNanos, long thread, int owner, boolean forced, long durationNanos)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.GARBAGE_COLLECTION;
        }
    }

    /**
     * When the live array at {@code address} was last used, told just before the event that ends it, or at the end of the
     * recording. Only where uses are recorded.
     *
     * @param idleNanos time since that use, or since the allocation when no use was seen
     * @param span 0 when no use was seen, else 1 plus the arrays that its thread placed in workspaces (ring buffers apart)
     *     after this one and before its last use; for detached arrays only whether it is 0 has a meaning
     */
    record LastUse(
            long timeNanos,
            long thread,
            int owner,
            int workspace,
            AllocationKind allocation,
            MemorySpace space,
            long address,
            long idleNanos,
            long span)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.LAST_USE;
        }
    }

    /**
     * Where the live detached array at {@code address} was made; told after its {@link Allocate} when it is large, and again
     * at the end of the recording when it has views.
     *
     * @param views views that Java code held then
     * @param site number in the {@link SiteTable} of the recording, 0 when unknown
     */
    record Origin(
            long timeNanos,
            long thread,
            int owner,
            AllocationKind allocation,
            MemorySpace space,
            long address,
            long views,
            int site)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.ORIGIN;
        }
    }

    /**
     * A look at the process, about one each second while a trace is written.
     *
     * @param residentBytes physical memory that it occupied
     * @param javaBytes part of it that the Java heap, metaspace, code cache and direct buffers explain
     */
    record ProcessSample(long timeNanos, long thread, int owner, long residentBytes, long javaBytes)
            implements MemoryEvent {
        @Override
        public EventKind kind() {
            return EventKind.PROCESS;
        }
    }

    /**
     * The readable form of the primitives that an {@link EventSink} receives. The mapping of {@code bytes} and
     * {@code extra}: Allocate (requested, rounded); Free (rounded, age); Transfer (bytes, duration); ScopeEnter
     * (reserved, generation); ScopeRelease (arrays, reserved); Iteration (iteration, epoch); Reclassify (rounded,
     * previous owner); AllocationFailure (requested, -); GarbageCollection (duration, 1 when forced); LastUse (idle, span);
     * Origin (views, site); ProcessSample (resident, Java).
     *
     * @throws IllegalArgumentException if {@code code} is not valid
     */
    static MemoryEvent of(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        if (!EventCode.isValid(code)) {
            throw new IllegalArgumentException("event code=0x" + Integer.toHexString(code) + " names no known event");
        }
        return switch (EventCode.kind(code)) {
            case ALLOCATE ->
                new Allocate(
                        timeNanos,
                        thread,
                        owner,
                        workspace,
                        EventCode.allocation(code),
                        EventCode.space(code),
                        address,
                        bytes,
                        extra);
            case FREE ->
                new Free(
                        timeNanos,
                        thread,
                        owner,
                        workspace,
                        EventCode.allocation(code),
                        EventCode.space(code),
                        address,
                        bytes,
                        extra);
            case TRANSFER ->
                new Transfer(
                        timeNanos,
                        thread,
                        owner,
                        EventCode.direction(code),
                        EventCode.hostEnd(code),
                        address,
                        bytes,
                        extra);
            case SCOPE_ENTER -> new ScopeEnter(timeNanos, thread, owner, workspace, extra, bytes);
            case SCOPE_RELEASE -> new ScopeRelease(timeNanos, thread, owner, workspace, bytes, extra);
            case CONTEXT -> new Context(timeNanos, thread, owner);
            case ITERATION -> new Iteration(timeNanos, thread, owner, bytes, extra);
            case RECLASSIFY ->
                new Reclassify(
                        timeNanos,
                        thread,
                        owner,
                        EventCode.allocation(code),
                        EventCode.space(code),
                        address,
                        bytes,
                        (int) extra);
            case ALLOCATION_FAILURE ->
                new AllocationFailure(timeNanos, thread, owner, workspace, EventCode.space(code), bytes);
            case GARBAGE_COLLECTION -> new GarbageCollection(timeNanos, thread, owner, extra != 0, bytes);
            case ORIGIN ->
                new Origin(
                        timeNanos,
                        thread,
                        owner,
                        EventCode.allocation(code),
                        EventCode.space(code),
                        address,
                        bytes,
                        (int) extra);
            case PROCESS -> new ProcessSample(timeNanos, thread, owner, bytes, extra);
            case LAST_USE ->
                new LastUse(
                        timeNanos,
                        thread,
                        owner,
                        workspace,
                        EventCode.allocation(code),
                        EventCode.space(code),
                        address,
                        bytes,
                        extra);
        };
    }
}
