// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayDeque;

/**
 * Blocks that were freed on one stream and that the device may still use. The stream itself may have them again at once,
 * since it works in order; for all others they wait for an event. Frees are marked together: a mark covers every free since
 * the one before it.
 *
 * <pre>
 *   free free | mark 1 | free | mark 2 | free        nextTicket = 2, blocks have tickets 0 0 1 2
 *   done once:   0 0      1      ...
 * </pre>
 */
final class StreamHold {
    final long stream;
    final FreeList large = new FreeList();
    final FreeList small = new FreeList();

    private final StreamEvents events;
    private final ArrayDeque<Long> marks = new ArrayDeque<>();
    /** Ticket of the blocks that are freed now: number of marks so far. */
    private long nextTicket;
    /** Blocks with a lower ticket are through. */
    private long doneTickets;

    private boolean unmarked;

    StreamHold(long stream, StreamEvents events) {
        this.stream = stream;
        this.events = events;
    }

    long bytes() {
        return large.bytes() + small.bytes();
    }

    /** The ticket for a block that is freed now. */
    long ticket() {
        unmarked = true;
        return nextTicket;
    }

    boolean isDone(Block block) {
        return block.ticket < doneTickets;
    }

    /** Marks what has no mark, then looks which marks the device has passed; true if any. */
    boolean poll() {
        mark();
        long before = doneTickets;
        while (!marks.isEmpty() && events.isDone(marks.getFirst())) {
            pass();
        }
        return doneTickets > before;
    }

    /** As {@link #poll()}, but waits until the device has passed the last of the marks. */
    void await() {
        mark();
        if (!marks.isEmpty()) {
            events.await(marks.getLast());
        }
        while (!marks.isEmpty()) {
            pass();
        }
    }

    private void mark() {
        if (unmarked) {
            marks.addLast(events.record(stream));
            nextTicket++;
            unmarked = false;
        }
    }

    private void pass() {
        events.discard(marks.removeFirst());
        doneTickets++;
    }
}
