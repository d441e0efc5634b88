// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The place of one batch in the order of the base iterator, from the moment it is read. Becomes ready once, with a batch or a
 * failure. Threading: one thread fills it, others wait for that.
 */
final class Slot<T> {
    private final long number;
    private final CountDownLatch ready = new CountDownLatch(1);
    private final AtomicBoolean left = new AtomicBoolean();
    private @Nullable T batch;
    private @Nullable PrefetchException failure;
    private volatile long bytes;
    private volatile long uploadNanos;

    /** The batch of {@code number}, from 0. */
    Slot(long number) {
        this.number = number;
    }

    long number() {
        return number;
    }

    /** As far as they are known. */
    long bytes() {
        return bytes;
    }

    void bytes(long value) {
        bytes = value;
    }

    /** What its copies to the device took. */
    long uploadNanos() {
        return uploadNanos;
    }

    void uploadNanos(long value) {
        uploadNanos = value;
    }

    /** True for the first call: the slot counts as ahead no more. */
    boolean leave() {
        return left.compareAndSet(false, true);
    }

    void complete(T prepared) {
        batch = prepared;
        ready.countDown();
    }

    /** {@code step} threw {@code cause}. */
    void fail(String step, Throwable cause) {
        failure = new PrefetchException(
                "Batch " + number + " failed: " + step + " threw " + cause + ". No more batches come until reset().",
                cause);
        ready.countDown();
    }

    boolean isReady() {
        return ready.getCount() == 0;
    }

    void await() throws InterruptedException {
        ready.await();
    }

    /** True when {@link #get} throws; only when ready. */
    boolean isFailed() {
        return failure != null;
    }

    /** What it became; only when ready. */
    T get() {
        if (failure != null) {
            throw failure;
        }
        if (batch == null) {
            throw new IllegalStateException("Batch " + number + " is not ready");
        }
        return batch;
    }
}
