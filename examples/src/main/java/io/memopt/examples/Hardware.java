// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Says what a figure was measured on. */
final class Hardware {
    private Hardware() {}

    /** E.g. {@code Some CPU @ 2.50GHz, 2 cores, 7.8 GiB, Linux}; what cannot be found out is left out. */
    static String describe() {
        String processor = firstValue(Path.of("/proc/cpuinfo"), "model name").orElse(System.getProperty("os.arch", ""));
        String memory = firstValue(Path.of("/proc/meminfo"), "MemTotal")
                .map(text -> String.format(
                        Locale.ROOT, ", %.1f GiB", Long.parseLong(text.replaceAll("\\D", "")) / 1024.0 / 1024))
                .orElse("");
        return processor + ", " + Runtime.getRuntime().availableProcessors() + " cores" + memory + ", "
                + System.getProperty("os.name", "");
    }

    /** The first {@code key: value} line of a file in Linux' /proc. */
    private static Optional<String> firstValue(Path file, String key) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            return Optional.empty();
        }
        return lines.stream()
                .filter(line -> line.startsWith(key) && line.contains(":"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst();
    }
}
