// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/** What the machine could hand out now without swapping, by Linux's {@code /proc/meminfo}. Reads one file at each call. */
public final class AvailableMemory {
    private static final Path MEMINFO = Path.of("/proc/meminfo");

    private AvailableMemory() {}

    /** Bytes; empty where the system does not tell. */
    public static OptionalLong bytes() {
        try {
            return ProcessMemory.kibibytesAfter(
                    "MemAvailable:", Files.readString(MEMINFO, StandardCharsets.ISO_8859_1));
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
