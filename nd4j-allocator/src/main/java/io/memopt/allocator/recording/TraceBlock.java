// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/** A block under construction: room for the header, then the payload. Threading: confined to who holds it. */
final class TraceBlock {
    private static final int HEADER = TraceFormat.BLOCK_HEADER_BYTES;

    final TraceBuffer buffer = new TraceBuffer(HEADER + TraceFormat.BLOCK_TARGET_BYTES + TraceFormat.BLOCK_SLACK_BYTES);
    int events;
    int flags;
    long firstSequence;
    long baseTimeNanos;
    /** {@link System#nanoTime()} of the first event's arrival. */
    long openedNanos;

    void reset() {
        buffer.position = HEADER;
        events = 0;
        flags = 0;
    }

    int payloadBytes() {
        return buffer.position - HEADER;
    }

    boolean isFull() {
        return payloadBytes() >= TraceFormat.BLOCK_TARGET_BYTES;
    }

    /** Fills in the header; the block then is {@link #length()} bytes of {@code buffer.bytes}. */
    void complete() {
        int crc = BlockHeader.crc(buffer.bytes, HEADER, payloadBytes());
        new BlockHeader(payloadBytes(), events, flags, firstSequence, baseTimeNanos, crc).write(buffer.bytes);
    }

    int length() {
        return buffer.position;
    }
}
