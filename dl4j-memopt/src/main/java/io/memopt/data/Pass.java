// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import io.memopt.allocator.nd4j.ArrayUpload;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One way through the base iterator. A thread reads it and lines up a {@link Slot} for each batch; others prepare the batches
 * and bring them to the device; the reader takes slots in order.
 *
 * <pre>
 *   base -> read -> [slot 4][slot 3][slot 2][slot 1] -> take()
 *                      |       |       |
 *                      prepare, upload (threads)
 * </pre>
 *
 * <p>Threading: {@link #peek} and {@link #take} by one thread at a time, {@link #stop} by any.
 */
final class Pass<T> {
    /** Ends the line. */
    private static final long END = -1;

    private final Stage<T> stage;
    private final Executor threads;
    private final DepthRule rule;
    private final Counts counts;
    private final Room room;
    private final LinkedBlockingQueue<Slot<T>> line = new LinkedBlockingQueue<>();
    private final Object monitor = new Object();
    private volatile @Nullable Slot<T> head;
    private int active;
    private volatile boolean stopped;
    private volatile boolean failed;

    /**
     * What is done for a batch.
     *
     * @param baseLock held while the base iterator is used
     * @param preparation of a batch, on any thread
     */
    record Stage<T>(
            Source<T> base, Object baseLock, BatchArrays<T> arrays, UnaryOperator<T> preparation, ArrayUpload upload) {}

    Pass(Stage<T> stage, Executor threads, DepthRule rule, long maxBytes, Counts counts) {
        this.stage = stage;
        this.threads = threads;
        this.rule = rule;
        this.counts = counts;
        this.room = new Room(rule.depth(), maxBytes, counts);
    }

    void start() {
        if (!run(this::read)) {
            line.add(new Slot<>(END));
        }
    }

    /** The next slot, ready or not, which stays the next; empty at the end. Waits for the base iterator. */
    Optional<Slot<T>> peek() throws InterruptedException {
        Slot<T> next = head;
        if (next == null) {
            next = line.take();
            head = next;
        }
        return next.number() == END ? Optional.empty() : Optional.of(next);
    }

    /** True when {@link #peek} would wait. */
    boolean isEmpty() {
        return head == null && line.isEmpty();
    }

    /** Takes {@code slot}, which {@link #peek} gave, when it is ready; waits for that. */
    T take(Slot<T> slot) throws InterruptedException {
        slot.await();
        head = null;
        leave(slot);
        if (slot.isFailed()) {
            stop();
            head = new Slot<>(END);
        }
        return slot.get();
    }

    /** Begins to end: what is being read or prepared is finished, nothing else is begun. */
    void stop() {
        stopped = true;
        room.close();
        line.add(new Slot<>(END));
        synchronized (monitor) {
            if (active == 0) {
                empty();
            }
        }
    }

    /** Waits until no thread works for this pass; false when that takes longer than {@code timeout}. */
    boolean awaitQuiet(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        synchronized (monitor) {
            for (long left = timeout.toMillis(); active > 0 && left > 0; ) {
                monitor.wait(left);
                left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            }
            return active == 0;
        }
    }

    private void read() {
        try {
            for (long number = 0; !failed && room.enter(); number++) {
                if (!readOne(new Slot<>(number))) {
                    break;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            line.add(new Slot<>(END));
        }
    }

    /** Lines up {@code slot}, with a batch or a failure; false when there is no more to read. */
    private boolean readOne(Slot<T> slot) {
        long start = System.nanoTime();
        T batch;
        try {
            synchronized (stage.baseLock()) {
                batch = stage.base().hasNext() ? stage.base().next() : null;
            }
            if (batch == null) {
                room.leave(0);
                return false;
            }
            stage.arrays().detach(batch);
            stage.upload().awaitThread();
            resize(slot, batch);
        } catch (Throwable e) {
            slot.fail("the base iterator", e);
            line.add(slot);
            return false;
        }
        long nanos = System.nanoTime() - start;
        counts.read(nanos);
        line.add(slot);
        if (!run(() -> prepare(slot, batch, nanos))) {
            giveUp(slot);
        }
        return true;
    }

    private void prepare(Slot<T> slot, T batch, long readNanos) {
        if (stopped) {
            giveUp(slot);
            return;
        }
        String step = "the preparation";
        try {
            long start = System.nanoTime();
            T prepared = Objects.requireNonNull(stage.preparation().apply(batch), "prepared batch");
            stage.arrays().detach(prepared);
            long middle = System.nanoTime();
            step = "the copy to the device";
            slot.uploadNanos(upload(prepared));
            long end = System.nanoTime();
            counts.prepared(middle - start);
            rule.prepared(readNanos + end - start);
            resize(slot, prepared);
            slot.complete(prepared);
        } catch (Throwable e) {
            failed = true;
            slot.fail(step, e);
        }
        room.prepared();
    }

    /** Returns nanoseconds. */
    private long upload(T batch) {
        long start = System.nanoTime();
        long[] copied = {0};
        stage.arrays().forEach(batch, array -> copied[0] += stage.upload().upload(array));
        stage.upload().awaitThread();
        long nanos = System.nanoTime() - start;
        counts.uploaded(copied[0], nanos);
        return nanos;
    }

    /** The reader was busy for {@code nanos} with the batch before. */
    void consumed(long nanos) {
        rule.consumed(nanos);
        room.depth(rule.depth());
    }

    private void resize(Slot<T> slot, T batch) {
        long before = slot.bytes();
        slot.bytes(stage.arrays().bytes(batch));
        room.resized(before, slot.bytes());
    }

    private static void giveUp(Slot<?> slot) {
        slot.fail("waiting for a thread", new CancellationException("the iterator was reset or closed"));
    }

    /** False when the threads have ended. */
    private boolean run(Runnable work) {
        synchronized (monitor) {
            active++;
        }
        try {
            threads.execute(() -> {
                try {
                    work.run();
                } finally {
                    finished();
                }
            });
            return true;
        } catch (RejectedExecutionException e) {
            finished();
            return false;
        }
    }

    private void finished() {
        synchronized (monitor) {
            active--;
            if (active == 0 && stopped) {
                empty();
            }
            monitor.notifyAll();
        }
    }

    /** Nobody will take what is in line; its bytes are ahead no more. */
    private void empty() {
        for (Slot<T> slot = line.poll(); slot != null; slot = line.poll()) {
            leave(slot);
        }
        Slot<T> peeked = head;
        if (peeked != null) {
            leave(peeked);
        }
        line.add(new Slot<>(END));
    }

    private void leave(Slot<T> slot) {
        if (slot.number() != END && slot.leave()) {
            room.leave(slot.bytes());
        }
    }
}
