// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.nio.charset.StandardCharsets;

/** Bytes with a write position and the number coding of {@link TraceFormat}. Threading: confined. */
final class TraceBuffer {
    final byte[] bytes;
    int position;

    TraceBuffer(int capacity) {
        bytes = new byte[capacity];
    }

    void putByte(int value) {
        bytes[position++] = (byte) value;
    }

    void putVarint(long value) {
        byte[] target = bytes;
        int at = position;
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            target[at++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        target[at++] = (byte) rest;
        position = at;
    }

    void putZigzag(long value) {
        putVarint(value << 1 ^ value >> 63);
    }

    /** Length and UTF-8 bytes; cut to {@link TraceFormat#MAX_NAME_CHARS}. */
    void putName(String name) {
        String kept =
                name.length() <= TraceFormat.MAX_NAME_CHARS ? name : name.substring(0, TraceFormat.MAX_NAME_CHARS);
        byte[] utf8 = kept.getBytes(StandardCharsets.UTF_8);
        putVarint(utf8.length);
        putBytes(utf8, utf8.length);
    }

    void putBytes(byte[] source, int length) {
        System.arraycopy(source, 0, bytes, position, length);
        position += length;
    }
}
