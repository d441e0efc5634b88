// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * An exact limit on what ND4J holds where its arrays lie: host memory on CPU, device memory on CUDA. Workspace blocks, spills
 * and arrays outside workspaces count with the bytes that were asked for; temporaries inside native operations and the Java heap
 * do not. A request beyond the limit fails as ND4J's own library fails when the system refuses.
 *
 * <p>For tests, single requests can be made to fail: see {@link #failRequest}.
 *
 * <p>Threading: safe; the limit also holds while several threads allocate. Memory: about 100 B for each live allocation.
 */
public final class AllocationLimit implements AutoCloseable {
    /** No request is refused for its size. */
    public static final long NONE = Long.MAX_VALUE;

    /** ND4J asks five times for an array outside workspaces before it gives up. */
    private static final int TRIES = 5;

    private final MemorySpace space;
    private final AtomicLong live = new AtomicLong();
    private final AtomicLong refusals = new AtomicLong();
    private final ConcurrentHashMap<Long, Held> held = new ConcurrentHashMap<>();
    private final ThreadLocal<Requests> requests = ThreadLocal.withInitial(Requests::new);
    private volatile long limitBytes;

    /** What one allocation takes; {@code width} of an array's elements, 0 for other memory. */
    private record Held(long bytes, int width) {}

    /** What one thread has asked for. */
    private static final class Requests {
        private long count;
        private long failing;
        private long refusedBytes = -1;
        private int tries;
        private @Nullable String error;

        /** A refused request that comes again is the same. */
        private void next(long bytes, boolean patient) {
            if (patient && refusedBytes == bytes && tries < TRIES) {
                tries++;
            } else {
                count++;
                tries = 1;
            }
        }
    }

    /** A limit of {@code limitBytes} on {@code space}. */
    AllocationLimit(long limitBytes, MemorySpace space) {
        this.space = space;
        limit(limitBytes);
    }

    /** What was allocated before. Counts nothing twice. */
    void adopt(MemoryLedger ledger) {
        ledger.forEachLive((key, allocation) -> {
            if (allocation.space() == space) {
                took(key, allocation.roundedBytes(), allocation.elementBytes());
            }
        });
    }

    /** Where the limit holds. */
    public MemorySpace space() {
        return space;
    }

    /** Bytes held now. */
    public long liveBytes() {
        return live.get();
    }

    /** The limit in bytes, {@link #NONE} if there is none. */
    public long limitBytes() {
        return limitBytes;
    }

    /**
     * Sets another limit. One below {@link #liveBytes()} refuses whatever is asked for next, and takes nothing away.
     *
     * @throws IllegalArgumentException if below 1
     */
    public void limit(long bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("limitBytes=" + bytes + ", expected at least 1");
        }
        limitBytes = bytes;
    }

    /** Requests that were refused since the limit began, each try counted. */
    public long refusals() {
        return refusals.get();
    }

    /** Requests of the calling thread since the limit began, repeated tries of a refused one not counted. */
    public long requests() {
        return requests.get().count;
    }

    /**
     * Makes the calling thread's {@code number}-th request from now on fail, with all tries of it; others are not touched. The
     * latest call counts.
     *
     * @param number from 1; 0 for none
     * @throws IllegalArgumentException if negative
     */
    public void failRequest(long number) {
        if (number < 0) {
            throw new IllegalArgumentException("number=" + number + ", expected 0 or more");
        }
        Requests its = requests.get();
        its.failing = number == 0 ? 0 : its.count + number;
        its.refusedBytes = -1;
    }

    /** Ends the limit, and takes what enforces it out of ND4J's native calls. */
    @Override
    public void close() {
        MemoryHooks.endLimit(this);
    }

    /**
     * Asks for {@code bytes}, which count from now on if they are granted; {@link #took} or {@link #notTaken} must follow.
     *
     * @param patient whether ND4J tries again when it is refused
     */
    boolean admits(long bytes, boolean patient) {
        Requests its = requests.get();
        its.next(bytes, patient);
        if (its.count != its.failing && reserve(bytes)) {
            its.refusedBytes = -1;
            return true;
        }
        refusals.incrementAndGet();
        its.refusedBytes = bytes;
        return false;
    }

    private boolean reserve(long bytes) {
        long before;
        do {
            before = live.get();
            if (bytes > limitBytes - before) {
                return false;
            }
        } while (!live.compareAndSet(before, before + bytes));
        return true;
    }

    /** What was admitted became live as {@code key}. */
    void admitted(long key, long bytes, int width) {
        Held stale = held.put(key, new Held(bytes, width));
        if (stale != null) {
            live.addAndGet(-stale.bytes());
        }
    }

    /** What was admitted is not needed, because the system refused. */
    void notTaken(long bytes) {
        live.addAndGet(-bytes);
    }

    private void took(long key, long bytes, int width) {
        if (held.putIfAbsent(key, new Held(bytes, width)) == null) {
            live.addAndGet(bytes);
        }
    }

    /** The memory behind {@code key} is about to be given back; unknown keys are ignored. */
    void freed(long key) {
        Held gone = held.remove(key);
        if (gone != null) {
            live.addAndGet(-gone.bytes());
        }
    }

    /** Bytes of one element of the array {@code key}; 0 when it is not known. */
    int widthOf(long key) {
        Held known = held.get(key);
        return known == null ? 0 : known.width();
    }

    /** ND4J reads the next refusal's reason from the library, as {@link #takeError} has it. */
    void error(String message) {
        requests.get().error = message;
    }

    boolean hasError() {
        return requests.get().error != null;
    }

    /** The reason, once. */
    @Nullable
    String takeError() {
        Requests its = requests.get();
        String message = its.error;
        its.error = null;
        return message;
    }
}
