// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a trace says about itself, so that another version can read it.
 *
 * @param formatVersion version of the block format
 * @param start wall clock at the start
 * @param startNanos {@link System#nanoTime()} at the same moment
 * @param properties all lines of the header: versions, host facts, and in {@code enum.…} the names behind the ordinals
 */
public record TraceHeader(int formatVersion, Instant start, long startNanos, Map<String, String> properties) {
    static final String KINDS = "enum.kind";
    static final String ALLOCATIONS = "enum.allocation";
    static final String DIRECTIONS = "enum.direction";
    static final String SPACES = "enum.space";
    static final String PHASES = "enum.phase";
    static final String CATEGORIES = "enum.category";
    static final String RELATIVE_EXTRA = "event.relativeExtra";

    private static final String START = "start.epochNanos";
    private static final String START_NANOS = "start.nanoTime";
    private static final long NANOS = 1_000_000_000L;

    public TraceHeader {
        properties = Collections.unmodifiableMap(new LinkedHashMap<>(properties));
    }

    /** The wall-clock time of an event; drifts with the difference between the two clocks. */
    public Instant wallClock(long timeNanos) {
        return start.plusNanos(timeNanos - startNanos);
    }

    /** The names behind the ordinals of one {@code enum.…} line; empty when it is missing. */
    List<String> names(String key) {
        String line = properties.getOrDefault(key, "");
        return line.isEmpty() ? List.of() : Arrays.asList(line.split(",", -1));
    }

    /** The header of a recording that starts now; {@code extra} lines cannot replace those of the format. */
    static TraceHeader now(Map<String, String> extra) {
        Instant wall = Instant.now();
        long nanos = System.nanoTime();
        Map<String, String> lines = new LinkedHashMap<>(extra);
        lines.put(START, Long.toString(wall.getEpochSecond() * NANOS + wall.getNano()));
        lines.put(START_NANOS, Long.toString(nanos));
        lines.put("java.version", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        lines.put("os", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        lines.put("pid", Long.toString(ProcessHandle.current().pid()));
        lines.put("event.fields", "head,time,thread,owner,code,workspace,address,bytes,extra");
        lines.put(RELATIVE_EXTRA, EventKind.ALLOCATE.name());
        lines.put(KINDS, list(EventKind.values()));
        lines.put(ALLOCATIONS, list(AllocationKind.values()));
        lines.put(DIRECTIONS, list(TransferDirection.values()));
        lines.put(SPACES, list(MemorySpace.values()));
        lines.put(PHASES, list(Phase.values()));
        lines.put(CATEGORIES, list(Category.values()));
        return new TraceHeader(TraceFormat.VERSION, wall, nanos, lines);
    }

    /** Preamble and text. */
    byte[] encode() {
        String text = properties.entrySet().stream()
                .map(line -> oneLine(line.getKey()).replace('=', '_') + "=" + oneLine(line.getValue()) + "\n")
                .collect(Collectors.joining());
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        if (utf8.length > TraceFormat.MAX_TEXT_BYTES) {
            throw new IllegalArgumentException("properties take " + utf8.length
                    + " B in the trace header, expected at most " + TraceFormat.MAX_TEXT_BYTES);
        }
        return ByteBuffer.allocate(TraceFormat.PREAMBLE_BYTES + utf8.length)
                .putLong(TraceFormat.MAGIC)
                .putInt(formatVersion)
                .putInt(utf8.length)
                .putInt(BlockHeader.crc(utf8, 0, utf8.length))
                .put(utf8)
                .array();
    }

    /**
     * Reads the text.
     *
     * @throws NumberFormatException if the start times are missing or no numbers
     */
    static TraceHeader parse(int formatVersion, byte[] utf8) {
        Map<String, String> lines = new LinkedHashMap<>();
        new String(utf8, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.indexOf('=') > 0)
                .forEach(
                        line -> lines.put(line.substring(0, line.indexOf('=')), line.substring(line.indexOf('=') + 1)));
        long wall = Long.parseLong(lines.getOrDefault(START, ""));
        long nanos = Long.parseLong(lines.getOrDefault(START_NANOS, ""));
        Instant start = Instant.ofEpochSecond(Math.floorDiv(wall, NANOS), Math.floorMod(wall, NANOS));
        return new TraceHeader(formatVersion, start, nanos, lines);
    }

    private static String list(Enum<?>[] constants) {
        return Arrays.stream(constants).map(Enum::name).collect(Collectors.joining(","));
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\R", " ");
    }
}
