// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What the operating system says of the mapping at an address of this process. Linux. */
final class Mapping {
    private static final int KIB = 1024;

    private Mapping() {}

    /** The file behind it; empty when there is none. */
    static String of(long address) throws IOException {
        String[] head = lines(address).get(0).trim().split(" +", 6);
        return head.length < 6 ? "" : head[5];
    }

    /** Bytes of it that no file backs. */
    static long anonymousBytes(long address) throws IOException {
        return lines(address).stream()
                .filter(line -> line.startsWith("Anonymous:"))
                .mapToLong(line -> KIB * Long.parseLong(line.replaceAll("\\D", "")))
                .sum();
    }

    private static List<String> lines(long address) throws IOException {
        List<String> all = Files.readAllLines(Path.of("/proc/self/smaps"));
        for (int i = 0; i < all.size(); i++) {
            if (isHead(all.get(i)) && contains(all.get(i), address)) {
                int end = i + 1;
                while (end < all.size() && !isHead(all.get(end))) {
                    end++;
                }
                return all.subList(i, end);
            }
        }
        throw new IllegalArgumentException("address " + Long.toHexString(address) + " is not mapped");
    }

    private static boolean isHead(String line) {
        return line.matches("[0-9a-f]+-[0-9a-f]+ .*");
    }

    private static boolean contains(String head, long address) {
        String[] ends = head.substring(0, head.indexOf(' ')).split("-", 2);
        return address >= Long.parseUnsignedLong(ends[0], 16) && address < Long.parseUnsignedLong(ends[1], 16);
    }
}
