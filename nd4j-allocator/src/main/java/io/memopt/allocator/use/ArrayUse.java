// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.WorkspaceAccount;
import org.jspecify.annotations.Nullable;

/**
 * One array from birth to end, with its last use so far. Views and native buffer objects over the same bytes share it.
 *
 * <p>Threading: nearly always used by one thread only. The last use is written without synchronisation, so that of two
 * threads that use an array within the same instant either may be the last; the end is seen by all.
 */
public final class ArrayUse {
    /** The clock of a thread without workspace arrays stands at -1. */
    private static final long NEVER = Long.MIN_VALUE;

    private static final long LIVES = -1;

    private final UseClock clock;
    private final @Nullable WorkspaceAccount account;
    private final AllocationKind kind;
    private final MemorySpace space;
    private final long address;
    private final long requestedBytes;
    private final long roundedBytes;
    private final int owner;
    private final @Nullable String site;
    private final long birth;
    private final long generation;
    private long lastUse = NEVER;
    private long lastUseNanos;
    private long endBirths = LIVES;
    private volatile boolean ended;
    private boolean bytesGiven;

    ArrayUse(
            UseClock clock,
            @Nullable WorkspaceAccount account,
            AllocationKind kind,
            MemorySpace space,
            long address,
            long requestedBytes,
            long roundedBytes,
            int owner,
            @Nullable String site,
            long now) {
        this.clock = clock;
        this.account = account;
        this.kind = kind;
        this.space = space;
        this.address = address;
        this.requestedBytes = requestedBytes;
        this.roundedBytes = roundedBytes;
        this.owner = owner;
        this.site = site;
        this.birth = clock.births();
        this.lastUseNanos = now;
        this.generation = account == null ? 0 : account.generation();
    }

    /** The workspace it lies in; null for a detached array. */
    public @Nullable WorkspaceAccount account() {
        return account;
    }

    public AllocationKind kind() {
        return kind;
    }

    public MemorySpace space() {
        return space;
    }

    /** Start of the bytes. */
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

    /** Number in the owner table of who asked for it. */
    public int owner() {
        return owner;
    }

    /** Where it was made; null when that was not asked for. */
    public @Nullable String site() {
        return site;
    }

    /** Times that its workspace had been entered when it was made, 0 for a detached array. */
    public long generation() {
        return generation;
    }

    /** Number among the arrays that its thread placed in workspaces, from 0; no meaning for a detached array. */
    public long birth() {
        return birth;
    }

    /** False while no use was seen. */
    public boolean used() {
        return lastUse != NEVER;
    }

    /** Number of the newest array of its thread at the last use, at least {@link #birth()}; the birth when never used. */
    public long lastUse() {
        return Math.max(birth, lastUse);
    }

    /** {@link System#nanoTime()} of the last use, or of the birth when never used. */
    public long lastUseNanos() {
        return lastUseNanos;
    }

    /** Number of the newest array of its thread when it ended; -1 while it lives. */
    public long end() {
        return endBirths;
    }

    /** True once its scope was left or its memory was given back: whatever the bytes hold then is not this array. */
    public boolean ended() {
        return ended;
    }

    /** A native call works on it. */
    void use() {
        lastUse = clock.newest();
        lastUseNanos = System.nanoTime();
    }

    /** As {@link #use()} for single elements: looks at the clock only if another array was born since. */
    void useElement() {
        if (lastUse != clock.newest()) {
            use();
        }
    }

    /** A use after the end: for a planner its bytes were needed so long. */
    void useLate() {
        lastUse = clock.newest();
        endBirths = Math.max(endBirths, clock.newest());
    }

    /** Another array has its bytes from now on. */
    void giveBytes() {
        bytesGiven = true;
    }

    boolean gaveBytes() {
        return bytesGiven;
    }

    void endNow() {
        endBirths = clock.newest();
        ended = true;
    }
}
