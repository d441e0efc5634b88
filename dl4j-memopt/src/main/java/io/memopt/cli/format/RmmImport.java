// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A log of RMM's {@code logging_resource_adaptor} as a trace of device memory. Times are times of day: a step back of more
 * than half a day is midnight. Frees of what was never allocated are left out.
 */
final class RmmImport {
    private static final List<String> COLUMNS = List.of("Thread", "Time", "Action", "Pointer", "Size", "Stream");
    private static final Pattern TIME = Pattern.compile("(\\d{1,2}):(\\d{2}):(\\d{2})[.:](\\d{1,9})");
    private static final long SECOND = 1_000_000_000L;
    private static final long DAY = 86_400 * SECOND;

    private final Path source;
    private long line;
    private long days;
    private long lastOfDay = -1;
    private long zero;

    private RmmImport(Path source) {
        this.source = source;
    }

    static void read(Path source, Path target, LongConsumer progress) throws IOException {
        new RmmImport(source).copy(target, progress);
    }

    private void copy(Path target, LongConsumer progress) throws IOException {
        try (BufferedReader in = Files.newBufferedReader(source)) {
            String head = in.readLine();
            line = 1;
            if (head == null || !Arrays.asList(head.strip().split(",", -1)).equals(COLUMNS)) {
                throw malformed("the columns " + String.join(",", COLUMNS), head == null ? "an empty file" : head);
            }
            try (ImportedTrace trace =
                    new ImportedTrace(target, MemorySpace.DEVICE, Map.of("import.from", "rmm-csv"), progress)) {
                for (String row = in.readLine(); row != null; row = in.readLine()) {
                    line++;
                    if (!row.isBlank()) {
                        play(trace, row.strip().split(",", -1), row);
                    }
                }
            }
        }
    }

    private void play(ImportedTrace trace, String[] cells, String row) throws IOException {
        if (cells.length != COLUMNS.size()) {
            throw malformed(COLUMNS.size() + " cells", row);
        }
        long thread = number(cells[0], 10, "a thread number");
        long nanos = nanos(cells[1]);
        long size = number(cells[4], 10, "a size");
        switch (cells[2]) {
            case "allocate" -> trace.allocated(nanos, thread, Owner.UNKNOWN, pointer(cells[3]), size, size);
            case "free" -> trace.freed(nanos, thread, pointer(cells[3]));
            case "allocate failure" -> trace.failed(nanos, thread, size);
            default -> throw malformed("allocate, free or allocate failure", cells[2]);
        }
    }

    private long nanos(String text) throws IOException {
        Matcher time = TIME.matcher(text);
        if (!time.matches()) {
            throw malformed("a time such as 10:22:03.250122", text);
        }
        long seconds = Long.parseLong(time.group(1)) * 3600
                + Long.parseLong(time.group(2)) * 60
                + Long.parseLong(time.group(3));
        String fraction = (time.group(4) + "00000000").substring(0, 9);
        long ofDay = seconds * SECOND + Long.parseLong(fraction);
        if (lastOfDay < 0) {
            zero = ofDay;
        } else if (lastOfDay - ofDay > DAY / 2) {
            days++;
        }
        lastOfDay = ofDay;
        return days * DAY + ofDay - zero;
    }

    private long pointer(String text) throws IOException {
        boolean hex = text.startsWith("0x") || text.startsWith("0X");
        return number(hex ? text.substring(2) : text, 16, "a pointer");
    }

    private long number(String text, int radix, String what) throws IOException {
        try {
            return Long.parseUnsignedLong(text.strip(), radix);
        } catch (NumberFormatException e) {
            FileFormatException malformed = malformed(what, text);
            malformed.initCause(e);
            throw malformed;
        }
    }

    private FileFormatException malformed(String expected, String found) {
        return new FileFormatException(
                source, "line " + line, expected, found, "Write it with rmm::mr::logging_resource_adaptor");
    }
}
