// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Writes a Python pickle, protocol 4, piece by piece: long lists need not be in memory. */
final class PickleWriter {
    private final OutputStream out;

    PickleWriter(OutputStream out) throws IOException {
        this.out = out;
        out.write(0x80);
        out.write(4);
    }

    /** Begins a dict; {@link #endItems} follows keys and values. */
    void beginDict() throws IOException {
        out.write('}');
        out.write('(');
    }

    void endItems() throws IOException {
        out.write('u');
    }

    /** Begins a list; {@link #endAppends} follows the elements. */
    void beginList() throws IOException {
        out.write(']');
        out.write('(');
    }

    void endAppends() throws IOException {
        out.write('e');
    }

    void key(String name) throws IOException {
        string(name);
    }

    void string(String text) throws IOException {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        if (utf8.length < 256) {
            out.write(0x8c);
            out.write(utf8.length);
        } else {
            out.write('X');
            little(utf8.length, 4);
        }
        out.write(utf8);
    }

    void integer(long value) throws IOException {
        if (value >= 0 && value < 256) {
            out.write('K');
            out.write((int) value);
        } else if (value == (int) value) {
            out.write('J');
            little(value, 4);
        } else {
            out.write(0x8a);
            out.write(8);
            little(value, 8);
        }
    }

    /** Strings, longs, booleans, lists and maps with string keys. */
    void value(Object value) throws IOException {
        if (value instanceof String text) {
            string(text);
        } else if (value instanceof Number number) {
            integer(number.longValue());
        } else if (value instanceof Boolean flag) {
            out.write(flag ? 0x88 : 0x89);
        } else if (value instanceof List<?> list) {
            beginList();
            for (Object item : list) {
                value(item);
            }
            endAppends();
        } else if (value instanceof Map<?, ?> map) {
            beginDict();
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                value(entry.getKey());
                value(entry.getValue());
            }
            endItems();
        } else {
            throw new IllegalArgumentException("value=" + value + ", expected text, number, flag, list or map");
        }
    }

    void end() throws IOException {
        out.write('.');
        out.flush();
    }

    private void little(long value, int length) throws IOException {
        for (int i = 0; i < length; i++) {
            out.write((int) (value >>> (8 * i)));
        }
    }
}
