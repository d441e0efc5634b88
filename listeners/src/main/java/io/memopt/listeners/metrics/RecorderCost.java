// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.concurrent.TimeUnit;

/**
 * What one event costs the books on this machine: the fastest of many small batches on a private ledger, half detached
 * arrays (allocate and free), half workspace arrays. Not in it: hooks that call the ledger, event sinks, stack walks.
 */
public final class RecorderCost {
    private static final long BUDGET_NANOS = TimeUnit.MILLISECONDS.toNanos(12);
    private static final int BATCH = 100;
    private static final long BYTES = 1024;

    private static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static double fastestSoFar = Double.MAX_VALUE;
    private static long measuredNanos;

    private RecorderCost() {}

    /**
     * Nanoseconds for an event: the fastest measurement so far. The first one of a JVM runs uncompiled code and is far too
     * high, so it is repeated when half a minute old.
     */
    public static synchronized double nanosPerEvent() {
        if (measuredNanos == 0 || System.nanoTime() - measuredNanos > REFRESH_NANOS) {
            measure();
        }
        return fastestSoFar;
    }

    /** As {@link #nanosPerEvent()}, measured again now; for figures that are reported once. */
    public static synchronized double nanosPerEventNow() {
        measure();
        return fastestSoFar;
    }

    private static void measure() {
        double nanos = measureNanos();
        if (nanos > 0) {
            fastestSoFar = Math.min(fastestSoFar, nanos);
        }
        measuredNanos = System.nanoTime();
    }

    /** Takes {@link #BUDGET_NANOS}, on a thread of its own for its context is a clean one. */
    static double measureNanos() {
        double[] cost = new double[1];
        Thread thread = new Thread(() -> cost[0] = fastest(), "memopt-calibration");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(TimeUnit.NANOSECONDS.toMillis(BUDGET_NANOS) * 100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return thread.isAlive() ? 0 : cost[0];
    }

    private static double fastest() {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(8), new WorkspaceTable(), owner -> Category.OTHER);
        WorkspaceAccount account = ledger.openAccount("calibration", Thread.currentThread(), false);
        long start = System.nanoTime();
        double fastest = Double.MAX_VALUE;
        long now = start;
        while (now - start < BUDGET_NANOS) {
            long before = ledger.events();
            batch(ledger, account);
            long end = System.nanoTime();
            fastest = Math.min(fastest, (double) (end - now) / (ledger.events() - before));
            now = end;
        }
        return fastest;
    }

    private static void batch(MemoryLedger ledger, WorkspaceAccount account) {
        for (int i = 1; i <= BATCH; i++) {
            ledger.allocated(MemorySpace.HOST, i, i, BYTES, BYTES);
            ledger.arrayAllocated(account, MemorySpace.HOST, i, BYTES, BYTES);
            ledger.arrayAllocated(account, MemorySpace.HOST, i, BYTES, BYTES);
            ledger.freed(i);
        }
        ledger.arraysReleased(account, MemorySpace.HOST);
    }
}
