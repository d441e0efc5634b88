// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.IOException;
import java.nio.file.Path;

/** A file is not what {@link TraceReader} can read, or no longer. The message says where, why and what to do. */
public final class TraceFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    private final transient Path path;
    private final long offset;

    TraceFormatException(Path path, long offset, String expected, String found, String remedy) {
        super("Cannot read " + path + " at offset " + offset + ": expected " + expected + ", found " + found + ". "
                + remedy + ".");
        this.path = path;
        this.offset = offset;
    }

    /** The file; null after serialization. */
    public Path path() {
        return path;
    }

    /** Where in the file, in bytes. */
    public long offset() {
        return offset;
    }
}
