// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** The fixed front of a block, see {@link TraceFormat}. */
record BlockHeader(int payloadBytes, int events, int flags, long firstSequence, long baseTimeNanos, int payloadCrc) {
    private static final int CRC_OFFSET = TraceFormat.BLOCK_HEADER_BYTES - Integer.BYTES;

    void write(byte[] target) {
        ByteBuffer.wrap(target)
                .putInt(TraceFormat.BLOCK_MAGIC)
                .putInt(payloadBytes)
                .putInt(events)
                .putInt(flags)
                .putLong(firstSequence)
                .putLong(baseTimeNanos)
                .putInt(payloadCrc)
                .putInt(crc(target, 0, CRC_OFFSET));
    }

    /** The header at the start of {@code source}; null when it is damaged or none. */
    static @Nullable BlockHeader read(byte[] source) {
        ByteBuffer in = ByteBuffer.wrap(source);
        if (in.getInt() != TraceFormat.BLOCK_MAGIC || in.getInt(CRC_OFFSET) != crc(source, 0, CRC_OFFSET)) {
            return null;
        }
        BlockHeader header =
                new BlockHeader(in.getInt(), in.getInt(), in.getInt(), in.getLong(), in.getLong(), in.getInt());
        boolean sane = header.payloadBytes >= 0 && header.payloadBytes <= TraceFormat.MAX_PAYLOAD_BYTES;
        return sane ? header : null;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** What follows the events of this block. */
    long endSequence() {
        return firstSequence + events;
    }

    static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }
}
