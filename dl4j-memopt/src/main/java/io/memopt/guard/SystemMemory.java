// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.recording.MemoryLimits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * Host memory as the system tells it. Bytes.
 *
 * @param total of the machine, or the container's limit if that is less
 * @param available what could be handed out without swapping, absent where {@code /proc} is
 */
record SystemMemory(OptionalLong total, OptionalLong available) {
    private static final Path MEMINFO = Path.of("/proc/meminfo");

    static SystemMemory now() {
        MemoryLimits limits = MemoryLimits.current();
        OptionalLong total = limits.containerBytes().isPresent() ? limits.containerBytes() : limits.physicalBytes();
        return new SystemMemory(total, read(MEMINFO, "MemAvailable:"));
    }

    static OptionalLong read(Path meminfo, String name) {
        try (Stream<String> lines = Files.lines(meminfo, StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.startsWith(name))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
                    .findFirst();
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
