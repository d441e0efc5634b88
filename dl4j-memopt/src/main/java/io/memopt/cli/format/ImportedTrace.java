// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/** A trace in the making from another tool's allocations: detached memory of one space. Threading: confined. */
final class ImportedTrace implements AutoCloseable {
    private static final int FLUSH_EVERY = 1 << 18;
    private static final int QUEUE_BLOCKS = 256;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final OwnerTable owners = new OwnerTable();
    private final TraceWriter writer;
    private final LongConsumer progress;
    private final MemorySpace space;
    private final Map<Long, Live> live = new HashMap<>();
    private long events;

    private record Live(long start, int owner, long rounded) {}

    ImportedTrace(Path target, MemorySpace space, Map<String, String> properties, LongConsumer progress)
            throws IOException {
        TraceOptions options =
                TraceOptions.DEFAULTS.withQueueBlocks(QUEUE_BLOCKS).withMaxBytes(Long.MAX_VALUE / 2);
        for (Map.Entry<String, String> line : properties.entrySet()) {
            options = options.withProperty(line.getKey(), line.getValue());
        }
        this.writer = new TraceWriter(target, owners, new WorkspaceTable(), options);
        this.space = space;
        this.progress = progress;
    }

    /** Bytes became live; {@code nanos} counts from the start of the trace. */
    void allocated(long nanos, long thread, Owner owner, long address, long requested, long rounded)
            throws IOException {
        long time = writer.header().startNanos() + nanos;
        int id = owners.idOf(owner);
        live.put(address, new Live(time, id, rounded));
        emit(EventKind.ALLOCATE, time, thread, id, address, requested, rounded);
    }

    /** False when nothing lives there. */
    boolean freed(long nanos, long thread, long address) throws IOException {
        Live ended = live.remove(address);
        if (ended == null) {
            return false;
        }
        long time = writer.header().startNanos() + nanos;
        emit(EventKind.FREE, time, thread, ended.owner, address, ended.rounded, time - ended.start);
        return true;
    }

    boolean isLive(long address) {
        return live.containsKey(address);
    }

    void failed(long nanos, long thread, long requested) throws IOException {
        accept(
                EventCode.of(EventKind.ALLOCATION_FAILURE, AllocationKind.WORKSPACE_BLOCK, space),
                writer.header().startNanos() + nanos,
                thread,
                OwnerTable.UNKNOWN,
                0,
                requested,
                0);
    }

    /** A training step ended. */
    void stepped(long nanos, long number) throws IOException {
        long time = writer.header().startNanos() + nanos;
        accept(EventCode.of(EventKind.ITERATION), time, 0, OwnerTable.UNKNOWN, 0, number, 0);
    }

    private void emit(EventKind kind, long time, long thread, int owner, long address, long bytes, long extra)
            throws IOException {
        accept(EventCode.of(kind, AllocationKind.DETACHED, space), time, thread, owner, address, bytes, extra);
    }

    private void accept(int code, long time, long thread, int owner, long address, long bytes, long extra)
            throws IOException {
        writer.accept(code, time, thread, owner, WorkspaceTable.NONE, address, bytes, extra);
        // The writer would rather drop events than wait for the disk; an import can wait.
        if (++events % FLUSH_EVERY == 0) {
            progress.accept(events);
            check(writer.flush(PATIENCE));
        }
    }

    /** Ends the file; an import that lost an event has failed. */
    @Override
    public void close() throws IOException {
        writer.close();
        check(writer.state() == TraceWriter.State.CLOSED && writer.lostEvents() == 0);
    }

    private void check(boolean well) throws IOException {
        if (!well) {
            throw new IOException(
                    "Cannot write " + writer.path() + " completely: "
                            + writer.failure().map(Throwable::getMessage).orElse("the disk does not answer")
                            + ". Free space on that disk or name another path.",
                    writer.failure().orElse(null));
        }
    }
}
