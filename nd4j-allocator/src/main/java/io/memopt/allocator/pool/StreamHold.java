// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayDeque;

/**
 * Blocks that were freed on one stream and that the device may still use. The stream itself may have them again at once,
 * since it works in order; for all others they wait for an event. Frees are marked together: a mark covers every free since
 * the one before it. Marks are made when blocks are wanted, or ahead of that, so that the device has time to get there.
 *
 * <pre>
 *   free free | mark 1 | free | mark 2 | free        nextTicket = 2, blocks have tickets 0 0 1 2
 *   done once:   0 0      1      ...
 * </pre>
 */
final class StreamHold {
    final long stream;
    final FreeList large;
    final FreeList small;

    private final StreamEvents events;
    private final ArrayDeque<Long> marks = new ArrayDeque<>();
    /** Ticket of the blocks that are freed now: number of marks so far. */
    private long nextTicket;
    /** Blocks with a lower ticket are through. */
    private long doneTickets;

    private long unmarkedBytes;

    StreamHold(long stream, StreamEvents events) {
        this.stream = stream;
        boolean ownedByNone =
                stream == StreamEvents.EVERY_STREAM; // else whole blocks are worth more to the stream itself
        this.large = new FreeList(ownedByNone);
        this.small = new FreeList(ownedByNone);
        this.events = events;
    }

    long bytes() {
        return large.bytes() + small.bytes();
    }

    /** Takes a block that is freed now. */
    void add(Block block) {
        block.ticket = nextTicket;
        unmarkedBytes += block.bytes;
        (block.slab == null ? large : small).merge(block);
    }

    /** Bytes freed since the last mark. */
    long unmarkedBytes() {
        return unmarkedBytes;
    }

    boolean isDone(Block block) {
        return block.ticket < doneTickets;
    }

    /** Looks which marks the device has passed; true if any. */
    boolean poll() {
        long before = doneTickets;
        while (!marks.isEmpty() && events.isDone(marks.getFirst())) {
            pass();
        }
        return doneTickets > before;
    }

    /** Marks what has no mark, and waits until the device has passed it. */
    void await() {
        mark();
        if (!marks.isEmpty()) {
            events.await(marks.getLast());
        }
        while (!marks.isEmpty()) {
            pass();
        }
    }

    /** Marks what has no mark; true if there was anything. */
    boolean mark() {
        if (unmarkedBytes == 0) {
            return false;
        }
        marks.addLast(events.record(stream));
        nextTicket++;
        unmarkedBytes = 0;
        return true;
    }

    private void pass() {
        events.discard(marks.removeFirst());
        doneTickets++;
    }
}
