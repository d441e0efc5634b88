// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.LongSupplier;

/** Runs deep recursion where there is stack for it: 256 MiB of address space, of which only what is used takes memory. */
final class SearchThread {
    private static final long STACK_BYTES = 256L << 20;

    private SearchThread() {}

    /** The result of a task that watches for interrupts of its own thread; those of the caller are passed on. */
    static long run(LongSupplier task) {
        FutureTask<Long> future = new FutureTask<>(task::getAsLong);
        Thread thread = new Thread(null, future, "memopt-plan", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    thread.interrupt();
                } catch (ExecutionException e) {
                    throw new IllegalStateException("Planning failed: " + e.getCause(), e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
