// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The file behind a {@link TraceReader}: its header, and whole blocks by offset. Threading: confined. */
final class TraceInput implements Closeable {
    private static final int SCAN_BYTES = 64 * 1024;

    private final Path path;
    private final RandomAccessFile file;
    private final TraceHeader header;
    private final long firstBlock;
    private final byte[] blockHeader = new byte[TraceFormat.BLOCK_HEADER_BYTES];

    TraceInput(Path path) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new TraceFormatException(
                    path, 0, "a trace file", Files.exists(path) ? "something else" : "nothing", "Check the path");
        }
        this.path = path;
        file = new RandomAccessFile(path.toFile(), "r");
        try {
            byte[] preamble = readPreamble();
            ByteBuffer in = ByteBuffer.wrap(preamble).position(Long.BYTES);
            int version = in.getInt();
            byte[] text = readText(version, in.getInt(), in.getInt());
            header = parse(version, text);
            firstBlock = (long) preamble.length + text.length;
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    TraceHeader header() {
        return header;
    }

    long firstBlock() {
        return firstBlock;
    }

    /** Grows while the recording runs. */
    long length() throws IOException {
        return file.length();
    }

    /** The block header at {@code offset}, null if there is none in good order. At least 40 bytes must be left. */
    @Nullable
    BlockHeader header(long offset) throws IOException {
        file.seek(offset);
        file.readFully(blockHeader);
        return BlockHeader.read(blockHeader);
    }

    /** The payload of the block at {@code offset}, null when it is damaged; it must lie within the file. */
    byte @Nullable [] payload(long offset, BlockHeader block) throws IOException {
        byte[] payload = new byte[block.payloadBytes()];
        file.seek(offset + TraceFormat.BLOCK_HEADER_BYTES);
        file.readFully(payload);
        return BlockHeader.crc(payload, 0, payload.length) == block.payloadCrc() ? payload : null;
    }

    /** Start of the first undamaged block in {@code [from, end)}; {@code end} if there is none. */
    long nextBlock(long from, long end) throws IOException {
        byte[] window = new byte[SCAN_BYTES];
        for (long at = from; at + TraceFormat.BLOCK_HEADER_BYTES <= end; at += SCAN_BYTES - 3) {
            int length = (int) Math.min(SCAN_BYTES, end - at);
            file.seek(at);
            file.readFully(window, 0, length);
            for (int i = 0; i + Integer.BYTES <= length; i++) {
                if (isMagic(window, i) && isBlock(at + i, end)) {
                    return at + i;
                }
            }
        }
        return end;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    TraceFormatException malformed(long offset, String expected, String found, String remedy) {
        return new TraceFormatException(path, offset, expected, found, remedy);
    }

    private static boolean isMagic(byte[] window, int at) {
        return window[at] == (byte) (TraceFormat.BLOCK_MAGIC >> 24)
                && Arrays.equals(
                        window,
                        at,
                        at + Integer.BYTES,
                        ByteBuffer.allocate(Integer.BYTES)
                                .putInt(TraceFormat.BLOCK_MAGIC)
                                .array(),
                        0,
                        Integer.BYTES);
    }

    private boolean isBlock(long offset, long end) throws IOException {
        if (offset + TraceFormat.BLOCK_HEADER_BYTES > end) {
            return false;
        }
        BlockHeader block = header(offset);
        return block != null
                && offset + TraceFormat.BLOCK_HEADER_BYTES + block.payloadBytes() <= end
                && payload(offset, block) != null;
    }

    private byte[] readPreamble() throws IOException {
        long length = file.length();
        byte[] preamble = new byte[(int) Math.min(TraceFormat.PREAMBLE_BYTES, length)];
        file.readFully(preamble);
        if (length == 0) {
            throw malformed(0, "a trace", "an empty file", "Nothing was recorded; record again");
        }
        byte[] magic =
                ByteBuffer.allocate(Long.BYTES).putLong(TraceFormat.MAGIC).array();
        int known = Math.min(preamble.length, magic.length);
        if (!Arrays.equals(preamble, 0, known, magic, 0, known)) {
            throw malformed(0, "the start of a trace (89 4d 4f 50)", hex(preamble, 4), "This is no .memopt file");
        }
        if (preamble.length < TraceFormat.PREAMBLE_BYTES) {
            throw malformed(length, "the rest of the header", "the end of the file", "Record again");
        }
        return preamble;
    }

    private byte[] readText(int version, int length, int crc) throws IOException {
        if (version < 1 || version > TraceFormat.VERSION) {
            throw malformed(
                    Long.BYTES,
                    "format version 1.." + TraceFormat.VERSION,
                    "version " + version,
                    version > TraceFormat.VERSION ? "Read it with a newer dl4j-memopt" : "The file is damaged");
        }
        if (length < 0 || length > TraceFormat.MAX_TEXT_BYTES) {
            throw malformed(12, "a header text of up to 1 MiB", length + " B", "The file is damaged: restore a copy");
        }
        if (file.length() - TraceFormat.PREAMBLE_BYTES < length) {
            throw malformed(file.length(), length + " B of header text", "the end of the file", "Record again");
        }
        byte[] text = new byte[length];
        file.readFully(text);
        if (BlockHeader.crc(text, 0, length) != crc) {
            throw malformed(
                    TraceFormat.PREAMBLE_BYTES,
                    "header text with CRC32C " + Integer.toHexString(crc),
                    Integer.toHexString(BlockHeader.crc(text, 0, length)),
                    "The file is damaged: restore a copy");
        }
        return text;
    }

    private TraceHeader parse(int version, byte[] text) throws TraceFormatException {
        try {
            return TraceHeader.parse(version, text);
        } catch (NumberFormatException e) {
            TraceFormatException malformed = malformed(
                    TraceFormat.PREAMBLE_BYTES,
                    "a header with start times",
                    "none (" + e.getMessage() + ")",
                    "Another program may have written this file");
            malformed.initCause(e);
            throw malformed;
        }
    }

    private static String hex(byte[] bytes, int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(length, bytes.length); i++) {
            text.append(String.format("%02x ", bytes[i]));
        }
        return text.toString().trim();
    }
}
