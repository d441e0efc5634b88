// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import java.util.Comparator;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Segments from the driver, cut into chunks; free neighbours are joined at once. Free chunks are found by best fit: the
 * smallest that is large enough, of equal ones that with the lowest address (D. E. Knuth, The Art of Computer Programming 1,
 * 2.5). O(log n) for each call.
 */
final class SegmentHeap {
    private static final Comparator<Chunk> BY_SIZE =
            Comparator.comparingLong((Chunk chunk) -> chunk.size).thenComparingLong(chunk -> chunk.address);

    private final TreeSet<Chunk> free = new TreeSet<>(BY_SIZE);
    private long nextAddress;
    private long reserved;
    private long driverCalls;

    /** The best free chunk of at least {@code bytes}, taken out of the free ones; null if there is none. */
    @Nullable
    Chunk takeBest(long bytes) {
        Chunk found = free.ceiling(new Chunk(this, bytes, Long.MIN_VALUE));
        if (found != null) {
            free.remove(found);
            found.isFree = false;
        }
        return found;
    }

    /** A chunk that is a whole new segment. */
    Chunk extend(long bytes) {
        Chunk segment = new Chunk(this, bytes, nextAddress);
        // A gap keeps segments from being neighbours.
        nextAddress += bytes + 1;
        reserved += bytes;
        driverCalls++;
        return segment;
    }

    /** Cuts {@code chunk} down to {@code bytes}; the rest becomes free. */
    void split(Chunk chunk, long bytes) {
        Chunk rest = new Chunk(this, chunk.size - bytes, chunk.address + bytes);
        rest.previous = chunk;
        rest.next = chunk.next;
        if (rest.next != null) {
            rest.next.previous = rest;
        }
        chunk.next = rest;
        chunk.size = bytes;
        rest.isFree = true;
        free.add(rest);
    }

    /** Gives a chunk back and joins it with its free neighbours. */
    Chunk release(Chunk chunk) {
        Chunk joined = chunk;
        Chunk before = chunk.previous;
        if (before != null && before.isFree) {
            free.remove(before);
            before.size += chunk.size;
            link(before, chunk.next);
            joined = before;
        }
        Chunk after = joined.next;
        if (after != null && after.isFree) {
            free.remove(after);
            joined.size += after.size;
            link(joined, after.next);
        }
        joined.isFree = true;
        free.add(joined);
        return joined;
    }

    /** Gives all wholly free segments back to the driver. */
    void trim() {
        free.removeIf(chunk -> {
            boolean whole = chunk.previous == null && chunk.next == null;
            if (whole) {
                reserved -= chunk.size;
                driverCalls++;
            }
            return whole;
        });
    }

    long reservedBytes() {
        return reserved;
    }

    long driverCalls() {
        return driverCalls;
    }

    long largestHoleBytes() {
        return free.isEmpty() ? 0 : free.last().size;
    }

    private static void link(Chunk chunk, @Nullable Chunk next) {
        chunk.next = next;
        if (next != null) {
            next.previous = chunk;
        }
    }

    /** A piece of a segment. */
    static final class Chunk {
        final SegmentHeap heap;
        private long size;
        private final long address;
        private @Nullable Chunk previous;
        private @Nullable Chunk next;
        private boolean isFree;

        Chunk(SegmentHeap heap, long size, long address) {
            this.heap = heap;
            this.size = size;
            this.address = address;
        }

        long size() {
            return size;
        }
    }
}
