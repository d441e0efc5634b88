// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.Count;
import java.io.IOException;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** One pass over the blocks of a trace. Holds one block at a time. Threading: confined. */
final class TraceCursor {
    private final TraceInput input;
    private final boolean skipDamage;
    private final @Nullable TraceVisitor visitor;
    private final EventDecoder decoder;
    private final long end;

    private long offset;
    private long blockOffset;
    private int eventsLeft;
    private long expectedSequence;
    private long events;
    private long lost;
    private long unknown;
    private long corruptBytes;
    private OptionalLong truncatedAt = OptionalLong.empty();
    private TraceSummary.Ending ending = TraceSummary.Ending.OPEN;

    /**
     * A pass from the first block to the present end of the file.
     *
     * @param visitor told of gaps and damage only
     */
    TraceCursor(TraceInput input, TraceDefinitions definitions, boolean skipDamage, @Nullable TraceVisitor visitor)
            throws IOException {
        this.input = input;
        this.skipDamage = skipDamage;
        this.visitor = visitor;
        this.decoder = new EventDecoder(definitions);
        this.offset = input.firstBlock();
        this.end = input.length();
    }

    /** Goes to the next event that this version knows; false at the end. */
    boolean next() throws IOException {
        while (true) {
            while (eventsLeft == 0) {
                if (!nextBlock()) {
                    return false;
                }
            }
            decode();
            if (decoder.isKnown()) {
                events++;
                return true;
            }
            unknown++;
        }
    }

    EventDecoder current() {
        return decoder;
    }

    TraceSummary summary() {
        return new TraceSummary(events, lost, unknown, corruptBytes, truncatedAt, ending);
    }

    private void decode() throws TraceFormatException {
        try {
            if (!decoder.next()) {
                throw new IndexOutOfBoundsException(Count.of(eventsLeft, "event") + " missing");
            }
            eventsLeft--;
        } catch (IndexOutOfBoundsException e) {
            TraceFormatException malformed = input.malformed(
                    blockOffset + TraceFormat.BLOCK_HEADER_BYTES + decoder.position(),
                    "an event",
                    e.getMessage() + " although the checksum is right",
                    "Please report this as a fault of dl4j-memopt");
            malformed.initCause(e);
            throw malformed;
        }
    }

    /** False at the end of what can be read. */
    private boolean nextBlock() throws IOException {
        while (offset < end) {
            if (end - offset < TraceFormat.BLOCK_HEADER_BYTES) {
                return truncated();
            }
            BlockHeader header = input.header(offset);
            if (header == null) {
                skip("a block header");
                continue;
            }
            long next = offset + TraceFormat.BLOCK_HEADER_BYTES + header.payloadBytes();
            if (next > end) {
                return truncated();
            }
            byte[] payload = input.payload(offset, header);
            if (payload == null) {
                skip("a block with CRC32C " + Integer.toHexString(header.payloadCrc()));
                continue;
            }
            enter(header, payload);
            offset = next;
            return true;
        }
        return false;
    }

    private void enter(BlockHeader header, byte[] payload) {
        long missing = header.firstSequence() - expectedSequence;
        if (missing > 0) {
            lost += missing;
            if (visitor != null) {
                visitor.gap(missing);
            }
        }
        if (header.has(TraceFormat.END)) {
            ending = header.has(TraceFormat.LIMIT_REACHED)
                    ? TraceSummary.Ending.LIMIT_REACHED
                    : TraceSummary.Ending.CLOSED;
        }
        expectedSequence = header.endSequence();
        eventsLeft = header.events();
        blockOffset = offset;
        decoder.begin(payload, header.baseTimeNanos());
    }

    private boolean truncated() {
        truncatedAt = OptionalLong.of(offset);
        offset = end;
        return false;
    }

    private void skip(String expected) throws IOException {
        if (!skipDamage) {
            throw input.malformed(
                    offset,
                    expected,
                    "damaged bytes",
                    "Restore a good copy, or read with OnCorruption.SKIP to go on behind the damage");
        }
        long next = input.nextBlock(offset + 1, end);
        corruptBytes += next - offset;
        if (visitor != null) {
            visitor.corrupt(offset, next - offset);
        }
        offset = next;
    }
}
