// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/** Looks for idle threads four times within the time that makes them idle, each millisecond at most, on a daemon thread. */
final class IdleWatch implements AutoCloseable {
    private static final long LOOKS = 4;
    private static final long SHORTEST_NANOS = 1_000_000;

    private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "memopt-idle-workspaces");
        thread.setDaemon(true);
        return thread;
    });
    private final ScheduledFuture<?> looking;

    /** Calls {@code release} with the {@link System#nanoTime()} since which a thread must have been idle. */
    IdleWatch(LongConsumer release, Duration idleAfter) {
        long nanos = idleAfter.toNanos();
        long every = Math.max(SHORTEST_NANOS, nanos / LOOKS);
        this.looking = executor.scheduleWithFixedDelay(
                () -> HookFailures.contain(() -> release.accept(System.nanoTime() - nanos)),
                every,
                every,
                TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        looking.cancel(false);
        executor.shutdown();
    }
}
