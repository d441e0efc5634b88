// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import org.jspecify.annotations.Nullable;

/** A live allocation that holds memory of its own. Threading: written by who posts to the books, read by any thread. */
public final class LiveAllocation {
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
    private int views;
    private boolean countsViews = true;
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
        return owner;
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
        views++;
    }

    void viewDeleted() {
        views--;
    }

    /** Hands the bytes to another owner. */
    void owner(int after) {
        owner = after;
    }
}
