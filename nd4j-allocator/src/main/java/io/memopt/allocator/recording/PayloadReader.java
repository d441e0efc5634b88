// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.nio.charset.StandardCharsets;

/**
 * Reads the number coding of {@link TraceFormat}. Throws {@link IndexOutOfBoundsException} past the end. Threading:
 * confined.
 */
final class PayloadReader {
    private final byte[] bytes;
    private final int end;
    private int position;

    PayloadReader(byte[] bytes) {
        this(bytes, 0, bytes.length);
    }

    private PayloadReader(byte[] bytes, int from, int end) {
        this.bytes = bytes;
        this.position = from;
        this.end = end;
    }

    boolean hasMore() {
        return position < end;
    }

    int position() {
        return position;
    }

    int unsignedByte() {
        if (position >= end) {
            throw new IndexOutOfBoundsException("end of data at " + end);
        }
        return bytes[position++] & 0xff;
    }

    long varint() {
        long value = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            int next = unsignedByte();
            value |= (long) (next & 0x7f) << shift;
            if (next < 0x80) {
                return value;
            }
        }
        throw new IndexOutOfBoundsException("number of more than 64 bits at " + position);
    }

    long zigzag() {
        long value = varint();
        return value >>> 1 ^ -(value & 1);
    }

    String name() {
        PayloadReader utf8 = slice();
        return new String(bytes, utf8.position, utf8.end - utf8.position, StandardCharsets.UTF_8);
    }

    /** The part that a length announces; reading goes on behind it. */
    PayloadReader slice() {
        long length = varint();
        if (length < 0 || length > end - position) {
            throw new IndexOutOfBoundsException("length " + length + " with " + (end - position) + " B left");
        }
        PayloadReader part = new PayloadReader(bytes, position, position + (int) length);
        position += (int) length;
        return part;
    }
}
