// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.nd4j.linalg.factory.Nd4j;

/** Daemon threads of an iterator, on the device of the thread that made it. They end when they have been idle for a while. */
final class WorkerThreads implements ThreadFactory {
    /** Longer than an evaluation between two epochs usually takes: on CUDA each new thread makes streams and handles. */
    private static final long IDLE_SECONDS = 10;

    private static final AtomicInteger POOLS = new AtomicInteger();

    private final String prefix = "memopt-prefetch-" + POOLS.incrementAndGet() + "-";
    private final AtomicInteger made = new AtomicInteger();
    private final int device = Nd4j.getAffinityManager().getDeviceForCurrentThread();

    private WorkerThreads() {}

    /** At most {@code threads} at a time. */
    static ThreadPoolExecutor pool(int threads) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), new WorkerThreads());
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    @Override
    public Thread newThread(Runnable work) {
        Thread thread = new Thread(() -> onDevice(work), prefix + made.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    private void onDevice(Runnable work) {
        Nd4j.getAffinityManager().unsafeSetDevice(device);
        work.run();
    }
}
