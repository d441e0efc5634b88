// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.EventSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Journal}s of all threads, and the lock under which they are posted to the {@link Books}: merged in the order of their
 * times, up to the moment of the call. Who learns of an address from another thread reads its clock later than that thread wrote
 * its entry, so that no entry is posted before one that it depends on. A thread that is interrupted between reading its clock and
 * writing has its entry posted next time, behind later ones of others, which know nothing of it.
 *
 * <p>Threading: any thread. Memory: 32 KiB for each thread that reported something and lives.
 */
final class Journals implements EventSource {
    private final Books books;
    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentHashMap<Long, Journal> byThread = new ConcurrentHashMap<>();
    /** For those who must know whether a journal is one of these but not keep all this alive. */
    private final Object identity = new Object();

    private volatile List<Journal> all = List.of();

    Journals(Books books) {
        this.books = books;
    }

    Object identity() {
        return identity;
    }

    /** The journal of the calling thread. */
    Journal mine() {
        Thread thread = Thread.currentThread();
        Journal known = byThread.get(thread.getId());
        return known == null ? open(thread) : known;
    }

    private Journal open(Thread thread) {
        return posted(() -> {
            byThread.values().removeIf(Journal::isOver);
            Journal opened = new Journal(thread);
            byThread.put(thread.getId(), opened);
            all = List.copyOf(byThread.values());
            return opened;
        });
    }

    /** What {@code action} returns once everything so far is posted; nothing is posted meanwhile. */
    <T> T posted(Supplier<T> action) {
        lock.lock();
        try {
            post();
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    /** As {@link #posted(Supplier)}. */
    void posted(Runnable action) {
        posted(() -> {
            action.run();
            return true;
        });
    }

    @Override
    public @Nullable String threadName(long id) {
        Journal journal = byThread.get(id);
        return journal == null ? null : journal.threadName();
    }

    /** Hands the books all that was written before this call. */
    @Override
    public void post() {
        lock.lock();
        try {
            long now = System.nanoTime();
            List<Journal> pending = new ArrayList<>();
            for (Journal journal : all) {
                if (journal.hasNext(now)) {
                    pending.add(journal);
                }
            }
            if (pending.size() == 1) {
                postAll(pending.get(0), now);
            } else {
                postMerged(pending, now);
            }
            books.posted();
        } finally {
            lock.unlock();
        }
    }

    private void postAll(Journal only, long now) {
        while (only.hasNext(now)) {
            only.postNext(books);
        }
    }

    private void postMerged(List<Journal> pending, long now) {
        for (Journal next = first(pending, now); next != null; next = first(pending, now)) {
            next.postNext(books);
        }
    }

    /** The journal with the earliest entry that is not after {@code now}. */
    private static @Nullable Journal first(List<Journal> pending, long now) {
        Journal first = null;
        for (Journal journal : pending) {
            if (journal.hasNext(now) && (first == null || journal.nextTime() - first.nextTime() < 0)) {
                first = journal;
            }
        }
        return first;
    }

    /** Entries of the fullest journal. */
    int mostWaiting() {
        int most = 0;
        for (Journal journal : all) {
            most = Math.max(most, journal.waiting());
        }
        return most;
    }

    /** Java heap that the journals take. */
    long memoryBytes() {
        return (long) byThread.size() * Journal.MEMORY_BYTES;
    }
}
