// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Reads a protocol buffer message without its schema: varints and length-delimited fields. */
final class Proto {
    private final byte[] bytes;
    private final Map<Integer, List<Object>> fields = new TreeMap<>();
    private int at;

    Proto(byte[] bytes) {
        this.bytes = bytes;
        while (at < bytes.length) {
            int key = (int) varint();
            Object value = switch (key & 7) {
                case 0 -> varint();
                case 2 -> delimited();
                default -> throw new AssertionError("wire type " + (key & 7) + " at " + at);
            };
            fields.computeIfAbsent(key >>> 3, field -> new ArrayList<>()).add(value);
        }
    }

    boolean has(int field) {
        return fields.containsKey(field);
    }

    long number(int field) {
        return (Long) only(field);
    }

    String text(int field) {
        return new String((byte[]) only(field), StandardCharsets.UTF_8);
    }

    Proto message(int field) {
        return new Proto((byte[]) only(field));
    }

    List<Proto> messages(int field) {
        return fields.getOrDefault(field, List.of()).stream()
                .map(value -> new Proto((byte[]) value))
                .toList();
    }

    private Object only(int field) {
        List<Object> values = fields.getOrDefault(field, List.of());
        if (values.size() != 1) {
            throw new AssertionError("field " + field + " occurs " + values.size() + " times, expected once");
        }
        return values.get(0);
    }

    private byte[] delimited() {
        int length = (int) varint();
        at += length;
        return Arrays.copyOfRange(bytes, at - length, at);
    }

    private long varint() {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            byte next = bytes[at++];
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
    }
}
