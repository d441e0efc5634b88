// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Hands out blocks of one device's memory and keeps what was freed for the next who asks. Terms: memory is <em>reserved</em>
 * once it is obtained from the source, <em>live</em> while it is handed out, <em>held</em> after it was freed on a stream
 * that may not have got there yet, and <em>ready</em> after that.
 *
 * <pre>
 *   source --grow--&gt; ready --allocate--&gt; live --free(stream)--&gt; held --event--&gt; ready --trim--&gt; source
 *                                          ^---- the same stream ----'
 * </pre>
 *
 * <ul>
 *   <li>A block is the smallest ready one that is large enough (best fit); the rest of it stays free and free neighbours
 *       become one again.
 *   <li>Blocks of up to {@link #SMALL_BYTES} come from slabs of {@link #SLAB_BYTES}, so that they do not break up the room of
 *       large ones.
 *   <li>A block freed on a stream may be had again on that stream at once, on another once the device has passed the free.
 *       {@link StreamEvents#EVERY_STREAM} stands for work of unknown streams: such blocks always wait.
 *   <li>Before more memory is obtained, an allocation waits for held blocks that would do.
 * </ul>
 *
 * <p>Sizes are rounded up to 512 bytes, and addresses are aligned to that (to 256 bytes if the source only does so).
 *
 * <p>Threading: safe, under one lock. An allocation that has to wait for the device lets others wait, too.
 */
public final class MemoryPool implements AutoCloseable {
    /** Largest block that comes from a slab. */
    public static final long SMALL_BYTES = 64 << 10;
    /** Size of a slab, unless pages are larger. */
    public static final long SLAB_BYTES = 2 << 20;

    private static final int MARKED_PART = 64;

    private final ReentrantLock lock = new ReentrantLock();
    private final MemorySource source;
    private final StreamEvents events;
    private final PoolOptions options;
    private final Growth growth;
    private final long slabBytes;
    private final FreeList readyLarge = new FreeList();
    private final FreeList readySmall = new FreeList();
    private final Map<Long, StreamHold> holds = new HashMap<>();
    private final BlockTable live = new BlockTable();

    private long liveBytes;
    private long livePeakBytes;
    private long reservedPeakBytes;
    private long allocations;
    private long waits;
    private boolean closed;

    /** An empty pool; nothing is obtained yet. */
    public MemoryPool(MemorySource source, StreamEvents events, PoolOptions options) {
        this.source = source;
        this.events = events;
        this.options = options;
        this.slabBytes = Math.max(SLAB_BYTES, source.pageBytes());
        this.growth = source.mapsPages()
                ? new PagedGrowth(source, readyLarge, options.limitBytes())
                : new SegmentGrowth(source, readyLarge, options.limitBytes());
    }

    /** Name of the source. */
    public String name() {
        return source.name();
    }

    /**
     * A block for work on {@code stream}; its content is arbitrary.
     *
     * @param bytes more than 0
     * @param stream any number that means the same stream in {@link #free}, or {@link StreamEvents#EVERY_STREAM}
     * @return its address
     * @throws PoolExhaustedException if the limit is reached or the device has no more; the pool is as before
     * @throws IllegalStateException after {@link #close()}
     */
    public long allocate(long bytes, long stream) {
        long size = rounded(bytes);
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("memory pool " + source.name() + " is closed");
            }
            Block block = find(size, stream);
            if (block == null) {
                block = obtain(size);
            }
            if (block == null) {
                throw new PoolExhaustedException(source.name(), bytes, options.limitBytes(), figures());
            }
            live.put(block);
            allocations++;
            liveBytes += size;
            livePeakBytes = Math.max(livePeakBytes, liveBytes);
            return block.address;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes a block back, after the last work that uses it was given to {@code stream}.
     *
     * @return false if {@code address} is not a block of this pool that is live; nothing happens then
     */
    public boolean free(long address, long stream) {
        lock.lock();
        try {
            Block block = live.remove(address);
            if (block == null) {
                return false;
            }
            liveBytes -= block.bytes;
            StreamHold hold = holdOf(stream);
            hold.add(block);
            if (stream == StreamEvents.EVERY_STREAM && hold.unmarkedBytes() >= markAheadBytes(hold)) {
                hold.mark();
            }
            if (closed) {
                releaseIfUnused();
            } else if (options.retainBytes() != Long.MAX_VALUE) {
                keep(options.retainBytes());
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** True if {@code address} is the start of a live block. */
    public boolean owns(long address) {
        lock.lock();
        try {
            return live.get(address) != null;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the device and gives back all memory that is not live, as far as whole pages allow. */
    public void trim() {
        lock.lock();
        try {
            awaitAll();
            releaseSlabs();
            growth.shrink(0);
        } finally {
            lock.unlock();
        }
    }

    /** Figures of this moment. */
    public PoolStatistics statistics() {
        lock.lock();
        try {
            return figures();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Hands out no more. Memory is given back now, or with the last live block: live ones stay valid until they are freed.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                releaseIfUnused();
            }
        } finally {
            lock.unlock();
        }
    }

    /** What a request takes from the pool. */
    public static long rounded(long bytes) {
        if (bytes <= 0 || bytes > Long.MAX_VALUE / 4) {
            throw new IllegalArgumentException("bytes=" + bytes + ", expected 1.." + Long.MAX_VALUE / 4);
        }
        return (bytes + FreeList.UNIT - 1) / FreeList.UNIT * FreeList.UNIT;
    }

    // ---- finding

    private static boolean isSmall(long size) {
        return size <= SMALL_BYTES;
    }

    /** The smaller of the ready and the stream's own held blocks that fit; null when there is none. */
    private @Nullable Block find(long size, long stream) {
        FreeList ready = isSmall(size) ? readySmall : readyLarge;
        Block found = ready.bestFit(size);
        StreamHold hold = stream == StreamEvents.EVERY_STREAM ? null : holds.get(stream);
        FreeList own = hold == null ? null : isSmall(size) ? hold.small : hold.large;
        Block held = own == null ? null : own.bestFit(size);
        if (own != null && held != null && (found == null || held.bytes <= found.bytes)) {
            return own.take(held, size);
        }
        return found == null ? null : ready.take(found, size);
    }

    private @Nullable Block findReady(long size) {
        return find(size, StreamEvents.EVERY_STREAM);
    }

    /** From held blocks of other streams, then from the source, then from whatever else can be given up. */
    private @Nullable Block obtain(long size) {
        Block block = poll() ? findReady(size) : null;
        block = block == null && markAll() && poll() ? findReady(size) : block;
        if (block == null && holds.values().stream().anyMatch(hold -> mayServe(hold, size))) {
            awaitAll();
            block = findReady(size);
        }
        if (block == null) {
            block = grown(size);
        }
        if (block == null && heldBytes() > 0) {
            awaitAll();
            block = findReady(size);
            block = block == null ? grown(size) : block;
        }
        if (block == null && releaseSlabs()) {
            block = grown(size);
        }
        return block;
    }

    private static boolean mayServe(StreamHold hold, long size) {
        return (isSmall(size) ? hold.small : hold.large).bestFit(size) != null;
    }

    private @Nullable Block grown(long size) {
        if (isSmall(size) && !addSlab()) {
            return null;
        }
        Block known = findReady(size);
        if (known != null || isSmall(size)) {
            return known;
        }
        boolean grew = growth.grow(size, Math.max(livePeakBytes, liveBytes + size));
        reservedPeakBytes = Math.max(reservedPeakBytes, growth.reservedBytes());
        return grew ? findReady(size) : null;
    }

    // ---- slabs

    private boolean addSlab() {
        Block slab = readyLarge.bestFit(slabBytes);
        slab = slab == null ? grown(slabBytes) : readyLarge.take(slab, slabBytes);
        if (slab == null) {
            return false;
        }
        readySmall.add(new Block(slab.address, slab.bytes, slab));
        return true;
    }

    /** Gives slabs in which nothing is in use back to the large blocks; true if there were any. */
    private boolean releaseSlabs() {
        List<Block> unused = readySmall.blocks(block -> block.slab != null && block.bytes == block.slab.bytes);
        unused.forEach(this::releaseSlab);
        return !unused.isEmpty();
    }

    private void releaseSlab(Block whole) {
        Block slab = whole.slab;
        if (slab != null) {
            readySmall.remove(whole);
            readyLarge.merge(slab);
        }
    }

    // ---- streams

    private StreamHold holdOf(long stream) {
        return holds.computeIfAbsent(stream, key -> new StreamHold(key, events));
    }

    private long heldBytes() {
        long sum = 0;
        for (StreamHold hold : holds.values()) {
            sum += hold.bytes();
        }
        return sum;
    }

    /**
     * With so many bytes freed by unknown streams and not marked, a mark is made before anything is wanted: with half of what is
     * free, so that the device has the time of the other half to get there. Less than a small part of the whole is not worth it.
     */
    private long markAheadBytes(StreamHold hold) {
        return Math.max((readyLarge.bytes() + readySmall.bytes() + hold.bytes()) / 2, livePeakBytes / MARKED_PART);
    }

    /** Marks all that was freed; false if everything was marked. */
    private boolean markAll() {
        boolean marked = false;
        for (StreamHold hold : holds.values()) {
            marked |= hold.mark();
        }
        return marked;
    }

    /** Moves to the ready blocks what the device is through with; true if that was anything. */
    private boolean poll() {
        boolean moved = false;
        for (StreamHold hold : holds.values()) {
            if (hold.bytes() > 0 && hold.poll()) {
                moved |= settle(hold);
            }
        }
        return moved;
    }

    private void awaitAll() {
        markAll();
        poll();
        for (StreamHold hold : holds.values()) {
            if (hold.bytes() > 0) {
                waits++;
                hold.await();
                settle(hold);
            }
        }
        holds.clear();
    }

    private boolean settle(StreamHold hold) {
        List<Block> large = hold.large.blocks(hold::isDone);
        for (Block block : large) {
            hold.large.remove(block);
            readyLarge.merge(block);
        }
        List<Block> small = hold.small.blocks(hold::isDone);
        for (Block block : small) {
            hold.small.remove(block);
            settleSmall(readySmall.merge(block));
        }
        return !large.isEmpty() || !small.isEmpty();
    }

    /** One unused slab is kept for the next small block; with other free small blocks there, it is not needed. */
    private void settleSmall(Block whole) {
        boolean unused = whole.slab != null && whole.bytes == whole.slab.bytes;
        if (unused && readySmall.bytes() > whole.bytes) {
            releaseSlab(whole);
        }
    }

    // ---- giving back

    private void keep(long bytes) {
        if (readyLarge.bytes() + heldBytes() > bytes) {
            markAll();
            poll();
            growth.shrink(bytes);
        }
    }

    private void releaseIfUnused() {
        awaitAll();
        releaseSlabs();
        if (live.size() == 0) {
            growth.close();
        } else {
            growth.shrink(0);
        }
    }

    private PoolStatistics figures() {
        return new PoolStatistics(
                growth.reservedBytes(),
                reservedPeakBytes,
                liveBytes,
                livePeakBytes,
                heldBytes(),
                readyLarge.largest(),
                live.size(),
                allocations,
                waits,
                source.calls());
    }
}
