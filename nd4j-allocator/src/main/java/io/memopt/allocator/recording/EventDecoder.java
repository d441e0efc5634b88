// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemoryEvent;

/** Turns the payload of one block after the other into events, as {@link TraceFormat} says. Threading: confined. */
final class EventDecoder {
    private static final int KINDS = TraceFormat.FIRST_DEFINITION;

    private final TraceDefinitions definitions;
    private PayloadReader in = new PayloadReader(new byte[0]);

    private final int[] lastShape = new int[KINDS];
    private final int[] lastWorkspace = new int[KINDS];
    private final long[] lastAddress = new long[KINDS];

    private int code;
    private long time;
    private long thread;
    private int owner;
    private int workspace;
    private long address;
    private long bytes;
    private long extra;

    EventDecoder(TraceDefinitions definitions) {
        this.definitions = definitions;
    }

    void begin(byte[] payload, long baseTimeNanos) {
        in = new PayloadReader(payload);
        time = baseTimeNanos;
        for (int kind = 0; kind < KINDS; kind++) {
            lastAddress[kind] = 0;
        }
    }

    /**
     * Goes to the next event of the block; false at its end.
     *
     * @throws IndexOutOfBoundsException if the payload makes no sense
     */
    boolean next() {
        while (in.hasMore()) {
            int head = in.unsignedByte();
            int kind = head & TraceFormat.KIND_MASK;
            if (kind < TraceFormat.FIRST_DEFINITION) {
                read(head, kind);
                return true;
            }
            definitions.define(kind, in.slice());
        }
        return false;
    }

    /** False when this version has no name for the event. */
    boolean isKnown() {
        return code >= 0;
    }

    int position() {
        return in.position();
    }

    void emit(EventSink sink) {
        sink.accept(code, time, thread, owner, workspace, address, bytes, extra);
    }

    MemoryEvent event() {
        return MemoryEvent.of(code, time, thread, owner, workspace, address, bytes, extra);
    }

    private void read(int head, int kind) {
        time += in.zigzag();
        if ((head & TraceFormat.SAME_THREAD) == 0) {
            thread = in.varint();
        }
        if ((head & TraceFormat.SAME_OWNER) == 0) {
            owner = (int) in.varint();
        }
        if ((head & TraceFormat.SAME_SHAPE) == 0) {
            lastShape[kind] = (int) in.varint();
            lastWorkspace[kind] = (int) in.varint();
        }
        code = definitions.codeOf(kind, lastShape[kind]);
        workspace = lastWorkspace[kind];
        address = lastAddress[kind] + in.zigzag();
        lastAddress[kind] = address;
        bytes = in.varint();
        extra = definitions.isExtraRelative(kind) ? bytes + in.zigzag() : in.varint();
    }
}
