// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What one thread did and the books do not know yet: a ring of entries of 64 bytes. A native operation leaves the caches cold, so
 * that an event costs what it touches; this is one cache line, and no write waits for those before it.
 *
 * <pre>
 *   entry: | time | what, details | workspace, iteration | address | bytes | rounded | key | extra |
 * </pre>
 *
 * <p>Threading: its own thread writes, whoever holds the lock of the {@link Journals} reads.
 */
final class Journal {
    /** 32 KiB: what posting itself needs is fetched once for so many. */
    static final int CAPACITY = 512;

    private static final int WORDS = 8;
    /** Java heap that one takes. */
    static final long MEMORY_BYTES = (long) CAPACITY * WORDS * Long.BYTES;

    private static final int DETAILS = 1;
    private static final int WHERE = 2;
    private static final int ADDRESS = 3;
    private static final int BYTES = 4;
    private static final int ROUNDED = 5;
    private static final int KEY = 6;
    private static final int EXTRA = 7;
    private static final VarHandle WRITTEN;
    private static final VarHandle READ;

    static {
        try {
            WRITTEN = MethodHandles.lookup().findVarHandle(Journal.class, "written", long.class);
            READ = MethodHandles.lookup().findVarHandle(Journal.class, "read", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Thread thread;
    private final long threadId;
    private final long[] entries = new long[CAPACITY * WORDS];
    /** Entries written so far. */
    private long written;
    /** Of those, what was taken out. */
    private long read;

    Journal(Thread thread) {
        this.thread = thread;
        this.threadId = thread.getId();
    }

    String threadName() {
        return thread.getName();
    }

    boolean isFull() {
        return written - (long) READ.getAcquire(this) == CAPACITY;
    }

    /** Adds an entry; there must be room. */
    void write(long time, long details, long where, long address, long bytes, long rounded, long key, long extra) {
        int at = at(written);
        entries[at] = time;
        entries[at + DETAILS] = details;
        entries[at + WHERE] = where;
        entries[at + ADDRESS] = address;
        entries[at + BYTES] = bytes;
        entries[at + ROUNDED] = rounded;
        entries[at + KEY] = key;
        entries[at + EXTRA] = extra;
        WRITTEN.setRelease(this, written + 1);
    }

    // ---- the reader's side

    /** Whether there is an entry of {@code now} or before. */
    boolean hasNext(long now) {
        return read < (long) WRITTEN.getAcquire(this) && nextTime() - now <= 0;
    }

    /** Entries to be read, from any thread. */
    int waiting() {
        return (int) ((long) WRITTEN.getAcquire(this) - (long) READ.getAcquire(this));
    }

    /** Time of the next entry, which must be there. */
    long nextTime() {
        return entries[at(read)];
    }

    /** Takes the next entry out and hands it to {@code books}. */
    void postNext(Books books) {
        int at = at(read);
        long time = entries[at];
        long details = entries[at + DETAILS];
        long where = entries[at + WHERE];
        long address = entries[at + ADDRESS];
        long bytes = entries[at + BYTES];
        long rounded = entries[at + ROUNDED];
        long key = entries[at + KEY];
        long extra = entries[at + EXTRA];
        READ.setRelease(this, read + 1);
        books.post(threadId, time, details, where, address, bytes, rounded, key, extra);
    }

    /** Whether nothing will be written any more, and nothing is to be read. */
    boolean isOver() {
        return !thread.isAlive() && (long) WRITTEN.getAcquire(this) == read;
    }

    private static int at(long entry) {
        return (int) (entry & (CAPACITY - 1)) * WORDS;
    }
}
