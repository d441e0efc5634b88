// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.locks.LockSupport;

/**
 * Posts journals on a daemon thread of its own, so that a thread that trains has to only if it fills one meanwhile. Comes back the
 * sooner the fuller they are: each 1 to 100 ms.
 *
 * <p>Threading: safe.
 */
final class Bookkeeper implements AutoCloseable {
    private static final long SHORTEST_NANOS = 1_000_000;
    private static final long LONGEST_NANOS = 100_000_000;
    private static final int MANY = Journal.CAPACITY / 4;
    private static final int FEW = Journal.CAPACITY / 16;

    private final Journals journals;
    private final Thread thread;
    private volatile boolean closed;

    Bookkeeper(Journals journals) {
        this.journals = journals;
        this.thread = new Thread(this::run, "memopt-bookkeeper");
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends the thread. What the journals have is posted by whoever reads. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    private void run() {
        long pause = SHORTEST_NANOS;
        while (!closed) {
            LockSupport.parkNanos(this, pause);
            int waiting = journals.mostWaiting();
            if (waiting > 0) {
                journals.post();
            }
            pause = next(pause, waiting);
        }
    }

    /** The pause after one of {@code pause} nanoseconds during which {@code waiting} entries came to one journal. */
    static long next(long pause, int waiting) {
        if (waiting > MANY) {
            return Math.max(SHORTEST_NANOS, pause / 2);
        }
        return waiting < FEW ? Math.min(LONGEST_NANOS, pause * 2) : pause;
    }
}
