// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.TraceReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.LongConsumer;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;

/**
 * Plays a trace to the Flight Recorder of this JVM. The recorder stamps events with the time of the export, so each tells in
 * fields of its own when and on which thread it really happened.
 */
final class JfrExport {
    private static final int PROGRESS = 0xffff;

    private JfrExport() {}

    /** One event of a trace; the meaning of {@code bytes} and {@code extra} by kind is that of {@code MemoryEvent}. */
    @Name("io.memopt.TraceEvent")
    @Label("Recorded ND4J Memory Event")
    @Description("One event of a dl4j-memopt trace")
    @StackTrace(false)
    static final class TraceEvent extends Event {
        @Label("Kind")
        String kind = "";

        @Label("Recorded At")
        @Description("Wall clock of the recorded run, ISO 8601")
        String recordedAt = "";

        @Label("Nanoseconds")
        @Description("Since the start of the recording")
        long nanos;

        @Label("Recorded Thread")
        String recordedThread = "";

        @Label("Allocation")
        String allocation = "";

        @Label("Space")
        String space = "";

        @Label("Network")
        String network = "";

        @Label("Layer")
        String layer = "";

        @Label("Phase")
        String phase = "";

        @Label("Category")
        String category = "";

        @Label("Workspace")
        String workspace = "";

        @Label("Workspace Instance")
        int workspaceInstance;

        @Label("Address")
        long address;

        @Label("Bytes")
        long bytes;

        @Label("Extra")
        long extra;
    }

    static void write(TraceReader reader, Path target, LongConsumer progress) throws IOException {
        try (Recording recording = new Recording()) {
            recording.setToDisk(true);
            recording.enable(TraceEvent.class);
            recording.start();
            long[] events = {0};
            reader.read((code, time, thread, owner, workspace, address, bytes, extra) -> {
                if ((++events[0] & PROGRESS) == 0) {
                    progress.accept(events[0]);
                }
                TraceEvent event = new TraceEvent();
                fill(event, code, reader.owner(owner));
                event.nanos = time - reader.header().startNanos();
                event.recordedAt = reader.header().wallClock(time).toString();
                event.recordedThread = reader.threadName(thread).orElse("thread " + thread);
                event.workspaceInstance = workspace;
                event.address = address;
                event.bytes = bytes;
                event.extra = extra;
                event.commit();
            });
            recording.stop();
            recording.dump(target);
        }
    }

    private static void fill(TraceEvent event, int code, Owner owner) {
        EventKind kind = EventCode.kind(code);
        event.kind = kind.name();
        event.network = owner.network();
        event.layer = owner.layer();
        event.phase = owner.phase().name();
        event.category = owner.category().name();
        event.workspace = owner.workspace();
        switch (kind) {
            case ALLOCATE, FREE, RECLASSIFY, LAST_USE, ORIGIN -> {
                event.allocation = EventCode.allocation(code).name();
                event.space = EventCode.space(code).name();
            }
            case ALLOCATION_FAILURE -> event.space = EventCode.space(code).name();
            case TRANSFER -> event.allocation = EventCode.direction(code).name();
            case SCOPE_ENTER, SCOPE_RELEASE, CONTEXT, ITERATION, GARBAGE_COLLECTION, PROCESS -> {}
        }
    }
}
