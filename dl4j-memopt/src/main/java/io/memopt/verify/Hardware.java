// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** One line about the machine, for figures that are quoted. */
public final class Hardware {
    private Hardware() {}

    /** Processor model, usable processors, architecture and operating system. */
    public static String describe() {
        return cpuModel() + ", " + Runtime.getRuntime().availableProcessors() + " processors, "
                + System.getProperty("os.arch") + ", " + System.getProperty("os.name");
    }

    private static String cpuModel() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/cpuinfo"), StandardCharsets.UTF_8)) {
                if (line.startsWith("model name")) {
                    return line.substring(line.indexOf(':') + 1).strip();
                }
            }
        } catch (IOException e) {
            return "unknown processor";
        }
        return "unknown processor";
    }
}
