// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Looks at the process at a steady pace and tells the books, so that a trace knows the resident size. One daemon thread; a
 * look takes well below a millisecond.
 */
public final class ProcessWatch implements AutoCloseable {
    private final MemoryLedger ledger;
    private final long intervalNanos;
    private final Thread thread;
    private final Object lock = new Object();
    private boolean closed;

    private ProcessWatch(MemoryLedger ledger, Duration interval) {
        this.ledger = ledger;
        this.intervalNanos = interval.toNanos();
        this.thread = new Thread(this::run, "memopt-process-watch");
        thread.setDaemon(true);
    }

    /** Looks now and then every {@code interval}, at least 1 ms, until closed. */
    public static ProcessWatch start(MemoryLedger ledger, Duration interval) {
        if (interval.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException("interval=" + interval + ", expected at least PT0.001S");
        }
        ProcessWatch watch = new ProcessWatch(ledger, interval);
        watch.thread.start();
        return watch;
    }

    /** Looks once more and ends. Further calls do nothing. */
    @Override
    public void close() {
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            lock.notifyAll();
        }
        ledger.processSampled(ProcessMemory.now());
    }

    private void run() {
        while (true) {
            ledger.processSampled(ProcessMemory.now());
            synchronized (lock) {
                if (closed || !pause()) {
                    return;
                }
            }
        }
    }

    /** False when it is time to end. */
    private boolean pause() {
        long end = System.nanoTime() + intervalNanos;
        try {
            for (long left = intervalNanos; left > 0 && !closed; left = end - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(lock, Math.max(1_000_000, left));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
        return !closed;
    }
}
