// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.DeferredSink;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Most bytes that a decision takes: what the network held before it, and what the thread that decides has allocated since. Left out is
 * what other threads allocate meanwhile, as those that prepare data do, and scalars: they wait for the Java collector, so that how many
 * there are depends on the machine.
 *
 * <p>Threading: created by the thread that decides; hears of all.
 */
final class DecisionPeak implements DeferredSink, AutoCloseable {
    private final MemoryLedger ledger;
    private final MemorySpace space;
    private final long thread = Thread.currentThread().getId();
    private final Map<Long, Long> bytesByAddress = new HashMap<>();
    private EventSource source = EventSource.NONE;
    private long now;
    private long peak;

    /**
     * Begins now.
     *
     * @param heldBytes of the network in {@code space}
     */
    DecisionPeak(MemoryLedger ledger, MemorySpace space, long heldBytes) {
        this.ledger = ledger;
        this.space = space;
        this.now = heldBytes;
        this.peak = heldBytes;
        ledger.addSink(this);
    }

    @Override
    public synchronized void heardFrom(EventSource its) {
        source = its;
    }

    @Override
    public synchronized void accept(
            int code, long timeNanos, long by, int owner, int workspace, long address, long bytes, long extra) {
        EventKind kind = EventCode.kind(code);
        boolean allocates = kind == EventKind.ALLOCATE;
        if (!(allocates || kind == EventKind.FREE)
                || !EventCode.allocation(code).ownsMemory()) {
            return;
        }
        if (allocates && EventCode.space(code) == space && by == thread) {
            allocated(EventCode.allocation(code), address, extra);
        } else if (!allocates) {
            Long freed = bytesByAddress.remove(address);
            now -= freed == null ? 0 : freed;
        }
    }

    private void allocated(AllocationKind kind, long address, long bytes) {
        boolean scalar = kind == AllocationKind.DETACHED && bytes <= ActualPeak.SCALAR_BYTES;
        if (!scalar) {
            bytesByAddress.put(address, bytes);
            now += bytes;
            peak = Math.max(peak, now);
        }
    }

    /** Most until now. */
    long bytes() {
        source().post();
        return peak();
    }

    /** Of what was allocated and is there still. */
    Set<Long> addresses() {
        source().post();
        return known();
    }

    private synchronized Set<Long> known() {
        return Set.copyOf(bytesByAddress.keySet());
    }

    /** One that begins now, with another {@code heldBytes}. */
    DecisionPeak another(long heldBytes) {
        return new DecisionPeak(ledger, space, heldBytes);
    }

    private synchronized EventSource source() {
        return source;
    }

    private synchronized long peak() {
        return peak;
    }

    /** Counts no more. */
    @Override
    public void close() {
        ledger.removeSink(this);
    }
}
