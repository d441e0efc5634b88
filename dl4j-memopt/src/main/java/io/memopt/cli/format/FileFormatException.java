// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.IOException;
import java.nio.file.Path;

/** A file is not what an import can read. The message says where, why and what to do. */
public final class FileFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    /**
     * The complaint.
     *
     * @param where {@code "offset 17"} or {@code "line 3"}
     */
    FileFormatException(Path path, String where, String expected, String found, String remedy) {
        super("Cannot read " + path + " at " + where + ": expected " + expected + ", found " + found + ". " + remedy
                + ".");
    }
}
