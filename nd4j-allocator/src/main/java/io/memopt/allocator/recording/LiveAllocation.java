// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/** A live allocation that holds memory of its own. Identity matters: the ledger removes exactly this object. */
public final class LiveAllocation {
    /** Updaters instead of two objects: a small network makes a hundred of these in each iteration. */
    private static final AtomicIntegerFieldUpdater<LiveAllocation> VIEWS =
            AtomicIntegerFieldUpdater.newUpdater(LiveAllocation.class, "views");

    private static final AtomicIntegerFieldUpdater<LiveAllocation> OWNER =
            AtomicIntegerFieldUpdater.newUpdater(LiveAllocation.class, "owner");

    private final AllocationKind kind;
    private final MemorySpace space;
    private final long address;
    private final long requestedBytes;
    private final long roundedBytes;
    private final int elementBytes;
    private final long timeNanos;
    private final long iteration;
    private final @Nullable WorkspaceAccount account;
    private final @Nullable String site;
    private volatile int views;
    private volatile boolean countsViews = true;
    /** Owner number, or its complement once the allocation ended. */
    private volatile int owner;

    LiveAllocation(
            AllocationKind kind,
            MemorySpace space,
            long address,
            long requestedBytes,
            long roundedBytes,
            int elementBytes,
            int owner,
            long timeNanos,
            long iteration,
            @Nullable WorkspaceAccount account,
            @Nullable String site) {
        this.kind = kind;
        this.space = space;
        this.address = address;
        this.requestedBytes = requestedBytes;
        this.roundedBytes = roundedBytes;
        this.elementBytes = elementBytes;
        this.owner = owner;
        this.timeNanos = timeNanos;
        this.iteration = iteration;
        this.account = account;
        this.site = site;
    }

    public AllocationKind kind() {
        return kind;
    }

    public MemorySpace space() {
        return space;
    }

    /** Start of the bytes, 0 when unknown. */
    public long address() {
        return address;
    }

    public long requestedBytes() {
        return requestedBytes;
    }

    /** Bytes really taken; at least {@link #requestedBytes()}. */
    public long roundedBytes() {
        return roundedBytes;
    }

    /** Width of one array element; 1 when the bytes are no array. */
    public int elementBytes() {
        return elementBytes;
    }

    /** {@link System#nanoTime()} of the allocation. */
    public long timeNanos() {
        return timeNanos;
    }

    /** Training iteration of the allocating thread, -1 before the first. */
    public long iteration() {
        return iteration;
    }

    /** Number in the owner table; changes when the ledger learns better. */
    public int owner() {
        int value = owner;
        return value < 0 ? ~value : value;
    }

    /** The workspace that the bytes serve; null for detached arrays. */
    public @Nullable WorkspaceAccount account() {
        return account;
    }

    /** Where user or Deeplearning4j code asked for the bytes; null when not captured. */
    public @Nullable String site() {
        return site;
    }

    /** Views of these bytes that Java still holds; a view keeps the whole allocation alive. */
    public int views() {
        return views;
    }

    boolean countsViews() {
        return countsViews;
    }

    /** For the rest of its life. */
    void countNoMoreViews() {
        countsViews = false;
    }

    void viewCreated() {
        VIEWS.incrementAndGet(this);
    }

    void viewDeleted() {
        VIEWS.decrementAndGet(this);
    }

    /** Hands the bytes to another owner; false when {@code before} no longer has them or they ended. */
    boolean move(int before, int after) {
        return OWNER.compareAndSet(this, before, after);
    }

    /** Ends the allocation and returns its last owner: from then on {@link #move} fails. */
    int end() {
        return ~OWNER.updateAndGet(this, value -> value < 0 ? value : ~value);
    }

    boolean ended() {
        return owner < 0;
    }
}
