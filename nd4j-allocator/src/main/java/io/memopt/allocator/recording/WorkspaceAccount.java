// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.MemorySpace;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The books of one workspace instance: arrays of the current cycle by owner, block bytes, spills, resizes. Outlives the
 * garbage collection of the workspace object by design and holds no reference to it.
 *
 * <p>Threading: {@link #cycle} and {@link #generation} move when a thread reports, all else when that is posted, under the lock of
 * the {@link Journals}. Figures may be read by any thread; they are those of the last posting, which {@link
 * MemoryLedger#accounts()} brings about.
 */
public final class WorkspaceAccount {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    private final int id;
    private final String name;
    private final long threadId;
    private final String threadName;
    private final boolean circular;
    private final int prefetchDepth;
    private final OwnerCache owners;
    private final WorkspaceFlows flows;
    private final ThreadContext opener = ThreadContext.current();

    /** Owner number times spaces, plus the space. */
    private int[] cycleKeys = new int[8];

    private long[] cycleBytes = new long[8];
    private int cycleSize;
    private final AtomicLong cycle = new AtomicLong();
    private final AtomicLong generation = new AtomicLong();
    private long postedCycle;
    private final AtomicLong arrayBytes = new AtomicLong();
    private long cycleTotalBytes;
    private long windowUsedBytes;
    private volatile long lastCycleBytes;
    private volatile long maxCycleBytes;
    private volatile long lastCycleFilledBytes;
    private final AtomicLong lastEnteredNanos = new AtomicLong();
    private final AtomicLongArray reserved = new AtomicLongArray(MemorySpace.values().length);
    private final AtomicLong spills = new AtomicLong();
    private final AtomicLong spilledBytes = new AtomicLong();
    private final AtomicLong blockAllocations = new AtomicLong();

    WorkspaceAccount(
            int id,
            String name,
            Thread thread,
            boolean circular,
            int prefetchDepth,
            OwnerCache owners,
            WorkspaceFlows flows,
            long now) {
        this.id = id;
        this.name = name;
        this.threadId = thread.getId();
        this.threadName = thread.getName();
        this.circular = circular;
        this.prefetchDepth = prefetchDepth;
        this.owners = owners;
        this.flows = flows;
        this.lastEnteredNanos.setPlain(now);
    }

    /** Number in the workspace table. */
    public int id() {
        return id;
    }

    /** ND4J's name of the workspace, without the random part that prefetchers append. */
    public String name() {
        return name;
    }

    public long threadId() {
        return threadId;
    }

    public String threadName() {
        return threadName;
    }

    /** What the calling thread does; found at once if it is the one that opened this account, as a workspace's own thread did. */
    public ThreadContext context() {
        return ThreadContext.current(opener);
    }

    /** True for the ring buffers behind prefetching iterators. */
    public boolean circular() {
        return circular;
    }

    /** Batches that a prefetching iterator keeps ready, 0 when this is no such workspace. */
    public int prefetchDepth() {
        return prefetchDepth;
    }

    /** Size of the block, 0 while none is held. */
    public long reservedBytes(MemorySpace space) {
        return reserved.get(space.ordinal());
    }

    /** Rounded bytes of the arrays in the block now. */
    public long arrayBytes() {
        return arrayBytes.getOpaque();
    }

    /** Rounded bytes of all arrays, spilled ones included, of the last full cycle. */
    public long lastCycleBytes() {
        return lastCycleBytes;
    }

    /** Largest {@link #lastCycleBytes()} so far: the block size at which nothing would ever have spilled. */
    public long maxCycleBytes() {
        return maxCycleBytes;
    }

    /** Allocations that did not fit the block; ND4J forgets its own count at scope close. */
    public long spills() {
        return spills.get();
    }

    public long spilledBytes() {
        return spilledBytes.get();
    }

    /** Times that the block was allocated anew after the first. */
    public long resizes() {
        return Math.max(0, blockAllocations.get() - 1);
    }

    /** {@link System#nanoTime()} of the last entered scope, or of creation. */
    public long lastEnteredNanos() {
        return lastEnteredNanos.getOpaque();
    }

    /** Number of scopes entered. */
    public long generation() {
        return generation.getOpaque();
    }

    /** Bytes of the block that arrays filled at the fullest moment of the last full cycle; spilled arrays are no part. */
    public long lastCycleFilledBytes() {
        return lastCycleFilledBytes;
    }

    /** Number of times that all arrays ended; tells whether an array is of the current cycle. */
    public long cycle() {
        return cycle.getOpaque();
    }

    // ---- what the reporting thread moves; without fences, for one thread at a time has the workspace

    /** Returns the cycle that ends. */
    long endCycle() {
        long ended = cycle.getPlain();
        cycle.setOpaque(ended + 1);
        return ended;
    }

    /** Returns the generation that begins. */
    long beginGeneration() {
        long begun = generation.getPlain() + 1;
        generation.setOpaque(begun);
        return begun;
    }

    int ownerFor(int context) {
        return owners.ownerFor(context);
    }

    // ---- posting

    /** Most bytes that arrays filled in the block since the last call; for {@link PeakWindows} alone. */
    long takeWindowUsedBytes() {
        long taken = windowUsedBytes;
        windowUsedBytes = arrayBytes.getPlain();
        return taken;
    }

    void entered(long now) {
        lastEnteredNanos.setOpaque(now);
        endCycleOf(arrayBytes.getPlain());
    }

    /** A ring buffer is not emptied between cycles, so entering its next scope ends the cycle before. */
    private void endCycleOf(long filledBytes) {
        if (cycleTotalBytes > 0) {
            lastCycleBytes = cycleTotalBytes;
            lastCycleFilledBytes = filledBytes;
            maxCycleBytes = Math.max(maxCycleBytes, cycleTotalBytes);
            cycleTotalBytes = 0;
        }
    }

    /** Books an array; the caller adds the same bytes to the ledger's totals. */
    void arrayAdded(int owner, MemorySpace space, long bytes) {
        int slot = slotOf(owner * SPACES.length + space.ordinal());
        cycleBytes[slot] += bytes;
        cycleTotalBytes += bytes;
        long now = arrayBytes.getPlain() + bytes;
        arrayBytes.setOpaque(now);
        windowUsedBytes = Math.max(windowUsedBytes, now);
    }

    void spilled(long bytes) {
        spills.setOpaque(spills.getPlain() + 1);
        spilledBytes.setOpaque(spilledBytes.getPlain() + bytes);
        flows.spilled(bytes);
        cycleTotalBytes += bytes;
    }

    void blockAllocated(MemorySpace space, long bytes) {
        reserved.addAndGet(space.ordinal(), bytes);
        if (space != MemorySpace.PINNED && blockAllocations.incrementAndGet() > 1) {
            flows.resized();
        }
    }

    void blockFreed(MemorySpace space, long bytes) {
        reserved.addAndGet(space.ordinal(), -bytes);
    }

    /** Takes one array out; false when its cycle is over and it has gone with all others. */
    boolean arrayRemoved(int owner, MemorySpace space, long bytes, long itsCycle) {
        if (itsCycle != postedCycle) {
            return false;
        }
        cycleBytes[slotOf(owner * SPACES.length + space.ordinal())] -= bytes;
        arrayBytes.setOpaque(arrayBytes.getPlain() - bytes);
        return true;
    }

    /** Ends all arrays of {@code itsCycle}; hands each owner's bytes in each space to {@code release} and returns their sum. */
    long releaseArrays(long itsCycle, Release release) {
        for (int i = 0; i < cycleSize; i++) {
            release.accept(cycleKeys[i] / SPACES.length, SPACES[cycleKeys[i] % SPACES.length], cycleBytes[i]);
        }
        long sum = arrayBytes.getPlain();
        cycleSize = 0;
        arrayBytes.setOpaque(0);
        postedCycle = itsCycle + 1;
        endCycleOf(sum);
        return sum;
    }

    /** Receives the bytes of one owner that end in one space. */
    @FunctionalInterface
    interface Release {
        void accept(int owner, MemorySpace space, long bytes);
    }

    private int slotOf(int key) {
        for (int i = cycleSize - 1; i >= 0; i--) {
            if (cycleKeys[i] == key) {
                return i;
            }
        }
        if (cycleSize == cycleKeys.length) {
            cycleKeys = Arrays.copyOf(cycleKeys, cycleSize * 2);
            cycleBytes = Arrays.copyOf(cycleBytes, cycleSize * 2);
        }
        cycleKeys[cycleSize] = key;
        cycleBytes[cycleSize] = 0;
        return cycleSize++;
    }
}
