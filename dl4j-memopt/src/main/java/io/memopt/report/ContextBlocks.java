// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;

/** Writes what one thread did, i.e. when it went on to which layer and phase, in blocks like {@link LifetimeBlocks}. */
final class ContextBlocks {
    private static final int BLOCK = 16384;

    private final Writer out;
    private final long[] times = new long[BLOCK];
    private final int[] owners = new int[BLOCK];
    private final Columns index = new Columns();
    private int size;
    private int blocks;

    ContextBlocks(Writer out) {
        this.out = out;
    }

    void add(long time, int owner) {
        times[size] = time;
        owners[size++] = owner;
        if (size == BLOCK) {
            write();
        }
    }

    void complete() {
        if (size > 0) {
            write();
        }
    }

    int blocks() {
        return blocks;
    }

    /** For each block its first time and number of changes. */
    String packIndex() {
        return index.pack();
    }

    private void write() {
        index.add(times[0]).add(size);
        Columns columns = new Columns().addDeltas(times, size);
        for (int i = 0; i < size; i++) {
            columns.add(owners[i]);
        }
        try {
            out.write("<script type=\"text/plain\" id=\"c" + blocks++ + "\">" + columns.pack() + "</script>\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        size = 0;
    }
}
