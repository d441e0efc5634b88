// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The address space of this process, which {@code prlimit} limits. Linux. */
final class AddressSpace {
    static final long UNLIMITED = -1;

    private static final long TIMEOUT_SECONDS = 10;
    private static final long KIB = 1024;

    private AddressSpace() {}

    /** Bytes in use. */
    static long bytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.ISO_8859_1).stream()
                .filter(line -> line.startsWith("VmSize:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * KIB)
                .findFirst()
                .orElseThrow();
    }

    /** Sets the limit to {@code bytes}, or to {@link #UNLIMITED}. */
    static void limit(long bytes) throws IOException, InterruptedException {
        String soft = bytes == UNLIMITED ? "unlimited" : String.valueOf(bytes);
        Process process = new ProcessBuilder(
                        "prlimit",
                        "--pid",
                        String.valueOf(ProcessHandle.current().pid()),
                        "--as=" + soft + ":unlimited")
                .redirectErrorStream(true)
                .start();
        if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new IOException("prlimit --as=" + soft + " failed");
        }
    }
}
