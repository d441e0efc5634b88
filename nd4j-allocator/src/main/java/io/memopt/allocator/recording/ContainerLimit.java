// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/**
 * The memory limit of the control group that the process is in, version 1 or 2. A limit of any parent group holds, too,
 * so the smallest on the way up counts. Inside a container the group's path is often that of the host and not visible:
 * then the way up ends at the mount point, which is the container's own group.
 */
final class ContainerLimit {
    /** Version 1 writes "no limit" as the largest multiple of the page size; anything near is none. */
    private static final long UNLIMITED = 1L << 60;

    private ContainerLimit() {}

    /**
     * The limit in force.
     *
     * @param groups {@code /proc/self/cgroup}
     * @param mount {@code /sys/fs/cgroup}
     * @return absent when there is none, or no control groups
     */
    static OptionalLong bytes(Path groups, Path mount) {
        long smallest = UNLIMITED;
        for (String line : lines(groups)) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[0].equals("0") && parts[1].isEmpty()) {
                smallest = Math.min(smallest, smallest(mount, parts[2], "memory.max"));
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
                smallest = Math.min(smallest, smallest(mount.resolve("memory"), parts[2], "memory.limit_in_bytes"));
            }
        }
        return smallest < UNLIMITED ? OptionalLong.of(smallest) : OptionalLong.empty();
    }

    private static long smallest(Path root, String group, String file) {
        long smallest = UNLIMITED;
        Path top = root.normalize();
        Path directory = top.resolve(group.replaceFirst("^/+", "")).normalize();
        while (directory != null && directory.startsWith(top)) {
            smallest = Math.min(smallest, read(directory.resolve(file)));
            directory = directory.getParent();
        }
        return smallest;
    }

    private static long read(Path file) {
        for (String line : lines(file)) {
            try {
                return Long.parseLong(line.trim());
            } catch (NumberFormatException e) {
                return UNLIMITED; // version 2 writes "max"
            }
        }
        return UNLIMITED;
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return List.of();
        }
    }
}
