// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.DeferredSink;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.SiteTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records every event to a {@code .memopt} file that {@link TraceReader} reads.
 *
 * <p>Events are encoded under one short lock into a block of 64 KiB. Full blocks go through a bounded queue to a daemon
 * thread that writes them; a block is also closed once its first event is {@link TraceOptions#flushInterval()} old. When
 * the disk cannot keep up the newest full block is dropped: {@link #lostEvents()} counts its events and the reader sees the
 * gap. Nothing of this ever throws into training. A full disk or any other I/O error ends the recording with one warning,
 * keeps what was written readable, and training goes on; so does the size limit.
 *
 * <p>Memory: (queueBlocks + 2) blocks of 96 KiB, 1.7 MiB by default, taken at construction.
 *
 * <p>Threading: all methods may be called from any thread. A shutdown hook closes the writer when the JVM exits normally;
 * {@link #close()} removes it.
 */
public final class TraceWriter implements DeferredSink, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(TraceWriter.class);

    /** A disk that hangs must not keep the JVM from ending. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    /** How a recording stands. */
    public enum State {
        RECORDING,
        /** Closed in good order. */
        CLOSED,
        /** The file reached {@link TraceOptions#maxBytes()}. */
        LIMIT_REACHED,
        /** Writing failed, see {@link TraceWriter#failure()}. */
        FAILED
    }

    private final Path path;
    private final TraceOptions options;
    private final TraceHeader header;
    private final TraceOutput output;
    private final Thread writer;
    private final Thread hook;

    private final Object lock = new Object();
    private final ArrayDeque<TraceBlock> queue = new ArrayDeque<>();
    private final ArrayDeque<TraceBlock> spare = new ArrayDeque<>();
    private final EventEncoder encoder;
    private TraceBlock current;
    private boolean currentOpen;
    private long sinceDefinitions = TraceFormat.DEFINITIONS_EVERY_BYTES;
    private long accepted;
    private long lost;
    private long handedOver;
    private long handled;
    private boolean closing;

    private volatile EventSource source = EventSource.NONE;
    private volatile State state = State.RECORDING;
    private volatile @Nullable IOException failure;
    private volatile long writtenBytes;

    /** As {@link #TraceWriter(Path, OwnerTable, WorkspaceTable, TraceOptions)} with the default options. */
    public TraceWriter(Path path, OwnerTable owners, WorkspaceTable workspaces) throws IOException {
        this(path, owners, workspaces, TraceOptions.DEFAULTS);
    }

    /**
     * Starts a recording; an existing file is overwritten.
     *
     * @throws IOException if nothing can be written there, with path, reason and remedy
     */
    public TraceWriter(Path path, OwnerTable owners, WorkspaceTable workspaces, TraceOptions options)
            throws IOException {
        this(path, owners, workspaces, new SiteTable(), options, TraceFile.create(path));
    }

    /** As {@link #TraceWriter(Path, OwnerTable, WorkspaceTable, TraceOptions)} for the events of {@code ledger}. */
    public TraceWriter(Path path, MemoryLedger ledger, TraceOptions options) throws IOException {
        this(path, ledger.owners(), ledger.workspaces(), ledger.sites(), options, TraceFile.create(path));
    }

    TraceWriter(Path path, OwnerTable owners, WorkspaceTable workspaces, TraceOptions options, TraceOutput output)
            throws IOException {
        this(path, owners, workspaces, new SiteTable(), options, output);
    }

    private TraceWriter(
            Path path,
            OwnerTable owners,
            WorkspaceTable workspaces,
            SiteTable sites,
            TraceOptions options,
            TraceOutput output)
            throws IOException {
        this.path = path;
        this.options = options;
        this.output = output;
        this.header = TraceHeader.now(options.properties());
        for (int i = 0; i < options.queueBlocks() + 1; i++) {
            spare.add(new TraceBlock());
        }
        current = new TraceBlock();
        current.reset();
        encoder = new EventEncoder(owners, workspaces, sites, current.buffer);
        writeHeader();
        writer = new Thread(this::writeBlocks, "memopt-trace-writer");
        writer.setDaemon(true);
        hook = new Thread(this::close, "memopt-trace-shutdown");
        addHook();
        writer.start();
        log.debug("Recording to {} with {}", path, options);
    }

    @Override
    public void heardFrom(EventSource events) {
        source = events;
        encoder.nameThreadsBy(events);
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        if (state != State.RECORDING || !EventCode.isValid(code)) {
            return;
        }
        synchronized (lock) {
            if (closing || state != State.RECORDING) {
                return;
            }
            try {
                if (!currentOpen) {
                    open(timeNanos);
                }
                encoder.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
                current.events++;
                accepted++;
                if (current.isFull()) {
                    handOver();
                }
            } catch (RuntimeException | OutOfMemoryError e) {
                stop(State.FAILED, new IOException("encoding failed: " + e, e));
            }
        }
    }

    /**
     * Hands what was accepted so far to the operating system and waits for that; drops nothing when the queue is full.
     *
     * @return false when that took longer than {@code timeout}, or recording stopped before
     */
    public boolean flush(Duration timeout) {
        source.post();
        long deadline = System.nanoTime() + timeout.toNanos();
        synchronized (lock) {
            while (currentOpen && state == State.RECORDING && !hasRoom()) {
                if (!awaitProgress(deadline - System.nanoTime())) {
                    return false;
                }
            }
            if (currentOpen && state == State.RECORDING) {
                handOver();
            }
            long target = handedOver;
            while (handled < target && state == State.RECORDING) {
                if (!awaitProgress(deadline - System.nanoTime())) {
                    return false;
                }
            }
            return handled >= target && (state == State.RECORDING || state == State.CLOSED);
        }
    }

    /** Writes what was accepted, ends the file and releases it. Waits at most 10 s. Further calls do nothing. */
    @Override
    public void close() {
        source.post();
        synchronized (lock) {
            closing = true;
            lock.notifyAll();
        }
        removeHook();
        if (!joinWriter()) {
            log.warn(
                    "The end of the trace {} was not written within {}: its device does not answer. What is missing is"
                            + " lost when the JVM ends.",
                    path,
                    CLOSE_TIMEOUT);
        }
    }

    public Path path() {
        return path;
    }

    /** What the file says about itself. */
    public TraceHeader header() {
        return header;
    }

    public State state() {
        return state;
    }

    /** Why recording stopped early; empty while it runs, after a close in good order, and at the size limit. */
    public Optional<IOException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Events taken so far, lost ones included. */
    public long acceptedEvents() {
        source.post();
        synchronized (lock) {
            return accepted;
        }
    }

    /** Events that did not and will not reach the file. */
    public long lostEvents() {
        source.post();
        synchronized (lock) {
            return lost;
        }
    }

    /** Size of the file so far. */
    public long writtenBytes() {
        return writtenBytes;
    }

    // ---- producers, under the lock

    private void open(long timeNanos) {
        if (sinceDefinitions >= TraceFormat.DEFINITIONS_EVERY_BYTES) {
            encoder.forgetDefinitions();
            current.flags = TraceFormat.FRESH_DEFINITIONS;
            sinceDefinitions = 0;
        }
        current.firstSequence = accepted;
        current.baseTimeNanos = timeNanos;
        current.openedNanos = System.nanoTime();
        currentOpen = true;
        encoder.begin(current.buffer, timeNanos);
    }

    /** Queues the current block, or drops it when the queue is full. */
    private void handOver() {
        TraceBlock next = hasRoom() ? spare.poll() : null;
        currentOpen = false;
        if (next == null) {
            lost += current.events;
            sinceDefinitions = TraceFormat.DEFINITIONS_EVERY_BYTES;
            current.reset();
            return;
        }
        sinceDefinitions += current.payloadBytes();
        queue.add(current);
        handedOver++;
        current = next;
        current.reset();
        lock.notifyAll();
    }

    private boolean hasRoom() {
        return queue.size() < options.queueBlocks() && !spare.isEmpty();
    }

    // ---- the writer thread

    private void writeBlocks() {
        try {
            for (TraceBlock block = nextBlock(); block != null; block = nextBlock()) {
                write(block);
                recycle(block);
            }
            finish();
        } catch (IOException | RuntimeException | Error e) {
            stop(State.FAILED, e instanceof IOException io ? io : new IOException("the writer thread failed: " + e, e));
        } finally {
            release();
        }
    }

    /** Waits for a block or for the flush interval of the current one; null once there is no more to write. */
    private @Nullable TraceBlock nextBlock() {
        synchronized (lock) {
            while (queue.isEmpty() && state == State.RECORDING) {
                long due = options.flushInterval().toNanos();
                if (currentOpen) {
                    due = closing ? 0 : current.openedNanos + due - System.nanoTime();
                } else if (closing) {
                    return null;
                }
                if (due <= 0) {
                    handOver();
                } else {
                    awaitWork(due);
                }
            }
            return state == State.RECORDING ? queue.poll() : null;
        }
    }

    private void write(TraceBlock block) throws IOException {
        block.complete();
        if (writtenBytes + block.length() + TraceFormat.BLOCK_HEADER_BYTES > options.maxBytes()) {
            synchronized (lock) {
                lost += block.events;
            }
            stop(State.LIMIT_REACHED, null);
            return;
        }
        try {
            append(block.buffer.bytes, block.length());
        } catch (IOException e) {
            synchronized (lock) {
                lost += block.events;
            }
            throw e;
        }
    }

    private void append(byte[] bytes, int length) throws IOException {
        output.write(bytes, length);
        long before = writtenBytes;
        writtenBytes = before + length;
    }

    private void recycle(TraceBlock block) {
        synchronized (lock) {
            handled++;
            spare.add(block);
            lock.notifyAll();
        }
    }

    /** The mark that tells a reader that nothing is missing but what the gaps say. */
    private void finish() throws IOException {
        if (state == State.FAILED) {
            return;
        }
        TraceBlock end = new TraceBlock();
        end.reset();
        end.flags = state == State.LIMIT_REACHED ? TraceFormat.END | TraceFormat.LIMIT_REACHED : TraceFormat.END;
        end.baseTimeNanos = System.nanoTime();
        synchronized (lock) {
            end.firstSequence = accepted;
        }
        end.complete();
        append(end.buffer.bytes, end.length());
        synchronized (lock) {
            if (state == State.RECORDING) {
                state = State.CLOSED;
            }
            lock.notifyAll();
        }
    }

    /** Cuts off a block written in part and closes the file; either may fail on a device that already failed. */
    private void release() {
        try (output) {
            if (state == State.FAILED) {
                output.truncate(writtenBytes);
            }
        } catch (IOException e) {
            log.debug("Closing the trace {} failed", path, e);
        }
    }

    private void stop(State reason, @Nullable IOException cause) {
        synchronized (lock) {
            if (state == State.FAILED || state == State.CLOSED) {
                return;
            }
            state = reason;
            failure = cause;
            lost += queue.stream().mapToLong(block -> block.events).sum();
            lost += currentOpen ? current.events : 0;
            queue.clear();
            currentOpen = false;
            lock.notifyAll();
        }
        if (reason == State.LIMIT_REACHED) {
            log.warn(
                    "Recording to {} stopped: {} B written, the limit is {} B. Training goes on. Raise maxBytes to record"
                            + " more.",
                    path,
                    writtenBytes,
                    options.maxBytes());
        } else {
            log.warn(
                    "Recording to {} stopped after {} B: {}. Training goes on and the file stays readable. Free space on"
                            + " that disk or record to another path.",
                    path,
                    writtenBytes,
                    cause == null ? "unknown cause" : cause.getMessage());
        }
    }

    // ---- start and end

    private void writeHeader() throws IOException {
        byte[] bytes = header.encode();
        try {
            append(bytes, bytes.length);
        } catch (IOException e) {
            output.close();
            throw TraceFile.refusal(
                    path, String.valueOf(e.getMessage()), "Free space on that disk or name another path", e);
        }
    }

    private void addHook() {
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            log.debug("The JVM is going down: the end of the trace {} may be missing", path, e);
        }
    }

    private void removeHook() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            log.trace("Closed by the shutdown of the JVM", e);
        }
    }

    /** Joins even when interrupted, and passes the interrupt on. */
    private boolean joinWriter() {
        boolean interrupted = false;
        long deadline = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
        while (writer.isAlive() && System.nanoTime() < deadline) {
            try {
                TimeUnit.NANOSECONDS.timedJoin(writer, Math.max(1_000_000, deadline - System.nanoTime()));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !writer.isAlive();
    }

    /** For {@link #flush}: false when the time is up or the thread was interrupted. */
    private boolean awaitProgress(long nanos) {
        if (nanos <= 0) {
            return false;
        }
        try {
            waitOnLock(nanos);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** For the writer thread, which nobody has a reason to interrupt: it looks again at what is to do. */
    private void awaitWork(long nanos) {
        try {
            waitOnLock(nanos);
        } catch (InterruptedException e) {
            log.debug("The trace writer of {} was interrupted and goes on", path, e);
        }
    }

    private void waitOnLock(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.timedWait(lock, Math.max(1_000_000, nanos));
    }
}
