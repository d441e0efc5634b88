// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import io.memopt.allocator.nd4j.ArrayUpload;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What both iterators do: passes through the base iterator, begun when the first batch is asked for, and an end to all of it.
 *
 * <p>Threading: batches are asked for, and passes reset, by one thread at a time; {@link #close} and {@link #statistics} by
 * any.
 */
final class Prefetcher<T> {
    private static final Logger log = LoggerFactory.getLogger(Prefetcher.class);
    /** A base iterator that takes longer for a batch is taken to hang when the iterator is closed. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Duration FOREVER = Duration.ofDays(365);

    private final Source<T> base;
    private final BatchArrays<T> arrays;
    private final PrefetchOptions options;
    private final Object baseLock = new Object();
    private final Counts counts = new Counts(PrefetchTotals.COUNTS);
    private final DepthRule rule;
    private final ArrayUpload upload;
    private final ThreadPoolExecutor threads;
    private volatile @Nullable Pass<T> pass;
    private volatile boolean closed;
    private @Nullable T lent;
    private long waitNanos;
    private long handedOutNanos;

    Prefetcher(Source<T> base, BatchArrays<T> arrays, PrefetchOptions options) {
        this.base = base;
        this.arrays = arrays;
        this.options = options;
        this.rule = new DepthRule(options.maxBatches());
        this.upload = ArrayUpload.ofBackend();
        this.threads = WorkerThreads.pool(options.threads() + 1);
    }

    /** Held while the base iterator is used; take it to ask that for anything. */
    Object baseLock() {
        return baseLock;
    }

    /**
     * For what may not change from the first question for a batch to the next reset.
     *
     * @throws IllegalStateException in between
     */
    void requireIdle() {
        if (pass != null) {
            throw new IllegalStateException("Batches are being prepared already: set a preprocessor before the first "
                    + "hasNext() or next(), or after reset()");
        }
    }

    PrefetchStatistics statistics() {
        return counts.now(rule.depth());
    }

    boolean hasNext(UnaryOperator<T> preparation) {
        return !closed && next(running(preparation)).isPresent();
    }

    T next(UnaryOperator<T> preparation) {
        Pass<T> running = closed ? null : running(preparation);
        Optional<Slot<T>> slot = running == null ? Optional.empty() : next(running);
        if (running == null || slot.isEmpty()) {
            throw new NoSuchElementException(
                    closed ? "The iterator is closed" : "The base iterator has no more batches");
        }
        closeLent();
        T batch = take(running, slot.get());
        counts.handedOut(slot.get().bytes());
        if (waitNanos > 0) {
            counts.waited(waitNanos, slot.get().uploadNanos());
        }
        waitNanos = 0;
        lent = options.closeUsed() ? batch : null;
        handedOutNanos = System.nanoTime();
        return batch;
    }

    /**
     * Ends the pass, and resets the base iterator.
     *
     * @throws IllegalStateException if the iterator is closed
     */
    void reset() {
        if (closed) {
            throw new IllegalStateException("The iterator is closed: make a new one");
        }
        endPass(FOREVER);
        closeLent();
        synchronized (baseLock) {
            base.reset();
        }
    }

    /** Ends the pass and the threads. The base iterator stays where it is, which is further than what was handed out. */
    void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (!endPass(PATIENCE)) {
            log.warn("The base iterator did not return within {} s; its thread was interrupted.", PATIENCE.toSeconds());
            threads.shutdownNow().forEach(Runnable::run);
        }
        closeLent();
        threads.shutdown();
        upload.close();
    }

    /** Ends everything without a wait: nobody holds the iterator any more. */
    void abandon() {
        closed = true;
        Pass<T> running = pass;
        if (running != null) {
            running.stop();
        }
        threads.shutdown();
        upload.close();
    }

    private Pass<T> running(UnaryOperator<T> preparation) {
        Pass<T> running = pass;
        if (running == null) {
            Pass.Stage<T> stage = new Pass.Stage<>(base, baseLock, arrays, preparation, upload);
            running = new Pass<>(stage, threads, rule, options.maxBytes(), counts);
            pass = running;
            waitNanos = 0;
            handedOutNanos = 0;
            running.start();
        }
        return running;
    }

    private Optional<Slot<T>> next(Pass<T> running) {
        if (handedOutNanos != 0) {
            running.consumed(System.nanoTime() - handedOutNanos);
            handedOutNanos = 0;
        }
        boolean waits = running.isEmpty();
        long start = System.nanoTime();
        try {
            return running.peek();
        } catch (InterruptedException e) {
            throw interrupted(e);
        } finally {
            waitNanos += waits ? System.nanoTime() - start : 0;
        }
    }

    private T take(Pass<T> running, Slot<T> slot) {
        boolean waits = !slot.isReady();
        long start = System.nanoTime();
        try {
            return running.take(slot);
        } catch (InterruptedException e) {
            throw interrupted(e);
        } finally {
            waitNanos += waits ? System.nanoTime() - start : 0;
        }
    }

    private static PrefetchException interrupted(InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new PrefetchException("Interrupted while a batch was waited for; it is still the next one.", cause);
    }

    private boolean endPass(Duration patience) {
        Pass<T> running = pass;
        pass = null;
        if (running == null) {
            return true;
        }
        running.stop();
        try {
            return running.awaitQuiet(patience);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private void closeLent() {
        T used = lent;
        lent = null;
        if (used != null) {
            arrays.forEach(used, Prefetcher::closeIfOwn);
        }
    }

    /** Two places of a batch may hold one array. */
    private static void closeIfOwn(INDArray array) {
        if (!array.wasClosed() && array.closeable()) {
            array.close();
        }
    }
}
