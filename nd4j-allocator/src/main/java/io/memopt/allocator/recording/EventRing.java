// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.DeferredSink;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.MemoryEvent;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The last events, in memory: a bounded history for reports after something went wrong.
 *
 * <p>Each event takes one slot of 64 bytes in one array, so nothing is allocated per event:
 *
 * <pre>
 *   slot: | stamp | time | thread | code, owner | workspace | address | bytes | extra |
 *   stamp of event n: 2n + 1 while it is written, 2n + 2 once it can be read, 0 before the first
 * </pre>
 *
 * <p>Threading: one writer at a time, which never waits. Readers take no lock either and skip slots that change under them.
 */
public final class EventRing implements DeferredSink {
    /** 4 MiB; a fifth of a second at the 300,000 events/s of a small network, minutes for a large one. */
    public static final int DEFAULT_CAPACITY = 1 << 16;

    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int STRIDE = 8;
    private static final int MAX_CAPACITY = 1 << 24;

    private final long[] slots;
    private final int mask;
    private final AtomicLong recorded = new AtomicLong();
    private volatile EventSource source = EventSource.NONE;

    public EventRing() {
        this(DEFAULT_CAPACITY);
    }

    /**
     * A ring of {@code capacity} events, 64 bytes each.
     *
     * @param capacity a power of two, 1..2^24
     */
    public EventRing(int capacity) {
        if (capacity < 1 || capacity > MAX_CAPACITY || Integer.bitCount(capacity) != 1) {
            throw new IllegalArgumentException(
                    "capacity=" + capacity + ", expected a power of two in 1.." + MAX_CAPACITY);
        }
        slots = new long[capacity * STRIDE];
        mask = capacity - 1;
    }

    @Override
    public void heardFrom(EventSource events) {
        source = events;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        long n = recorded.getPlain();
        int at = (int) (n & mask) * STRIDE;
        SLOT.setOpaque(slots, at, 2 * n + 1);
        VarHandle.storeStoreFence();
        slots[at + 1] = timeNanos;
        slots[at + 2] = thread;
        slots[at + 3] = (long) code << 32 | (owner & 0xffff_ffffL);
        slots[at + 4] = workspace;
        slots[at + 5] = address;
        slots[at + 6] = bytes;
        slots[at + 7] = extra;
        SLOT.setRelease(slots, at, 2 * n + 2);
        recorded.setRelease(n + 1);
    }

    /** The events still held, oldest first. O(capacity); allocates a record for each. */
    public List<MemoryEvent> snapshot() {
        List<MemoryEvent> events = new ArrayList<>();
        replay((code, time, thread, owner, workspace, address, bytes, extra) -> {
            if (EventCode.isValid(code)) {
                events.add(MemoryEvent.of(code, time, thread, owner, workspace, address, bytes, extra));
            }
        });
        return events;
    }

    /** Hands the events still held to {@code sink}, oldest first, without allocating per event. */
    public void replay(EventSink sink) {
        long end = recorded();
        long[] copy = new long[STRIDE];
        for (long n = Math.max(0, end - capacity()); n < end; n++) {
            if (read(n, copy)) {
                sink.accept(
                        (int) (copy[3] >> 32),
                        copy[1],
                        copy[2],
                        (int) copy[3],
                        (int) copy[4],
                        copy[5],
                        copy[6],
                        copy[7]);
            }
        }
    }

    public int capacity() {
        return mask + 1;
    }

    /** Events offered since the start. */
    public long recorded() {
        source.post();
        return recorded.getAcquire();
    }

    /** Events that later ones overwrote. */
    public long lost() {
        return Math.max(0, recorded() - capacity());
    }

    /** Java heap that the ring takes, fixed at construction. */
    public long memoryBytes() {
        return (long) slots.length * Long.BYTES;
    }

    /** Copies event {@code n}; false when it is not there whole. */
    private boolean read(long n, long[] copy) {
        int at = (int) (n & mask) * STRIDE;
        long stamp = 2 * n + 2;
        if ((long) SLOT.getAcquire(slots, at) != stamp) {
            return false;
        }
        System.arraycopy(slots, at, copy, 0, STRIDE);
        VarHandle.loadLoadFence();
        return (long) SLOT.getOpaque(slots, at) == stamp;
    }
}
