// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.plan.MemoryPlan;
import io.memopt.allocator.plan.PlanProblem;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Problems and plans as MiniMalloc writes them: a header, then one line for each buffer.
 *
 * <p>Columns in any order: {@code id}, {@code lower}, {@code upper} and {@code size}; optionally {@code alignment},
 * {@code gaps}, {@code offset} (where the buffer must lie, or empty) and {@code hint} (ignored). {@code start} and
 * {@code begin} mean {@code lower}, {@code buffer} and {@code buffer_id} mean {@code id}, and {@code end} is the last moment of
 * a life instead of the first one after it, also in gaps. Gaps are {@code from-to} or {@code from-to@low:high}, with spaces
 * between them; the latter keeps the bytes {@code [low, high)}.
 */
public final class PlanCsv {
    private static final Map<String, String> ALIASES =
            Map.of("buffer", "id", "buffer_id", "id", "start", "lower", "begin", "lower");
    private static final List<String> REQUIRED = List.of("id", "lower", "size");

    private final Path path;
    private final List<String> rows = new ArrayList<>();
    private final Map<String, Integer> columns = new HashMap<>();
    private final PlanProblem problem;
    private String header = "";
    /** Added to ends: 1 where the file names last moments. */
    private int afterEnd;

    private PlanCsv(Path path) throws IOException {
        this.path = path;
        PlanProblem.Builder builder = PlanProblem.builder();
        List<String> lines = Files.readAllLines(path, StandardCharsets.UTF_8);
        readHeader(lines);
        for (int i = 1; i < lines.size(); i++) {
            if (!lines.get(i).isBlank()) {
                rows.add(lines.get(i));
                add(builder, i + 1, lines.get(i).split(",", -1));
            }
        }
        problem = builder.build();
    }

    /**
     * Reads a problem.
     *
     * @throws FileFormatException naming the line that makes no sense
     */
    public static PlanCsv read(Path path) throws IOException {
        return new PlanCsv(path);
    }

    /** What the file asks for; buffers in the order of its lines. */
    public PlanProblem problem() {
        return problem;
    }

    /** Writes what was read, with the offsets of a plan in a column {@code offset}; an existing file is replaced. */
    public void write(MemoryPlan plan, Path target) throws IOException {
        Integer column = columns.get("offset");
        try (BufferedWriter out = Files.newBufferedWriter(target, StandardCharsets.UTF_8)) {
            out.write(column == null ? header + ",offset\n" : header + "\n");
            for (int i = 0; i < rows.size(); i++) {
                out.write(withOffset(rows.get(i), column == null ? -1 : column, plan.offset(i)));
                out.write('\n');
            }
        }
    }

    private static String withOffset(String row, int column, long offset) {
        if (column < 0) {
            return row + "," + offset;
        }
        String[] cells = row.split(",", -1);
        cells[column] = Long.toString(offset);
        return String.join(",", cells);
    }

    private void readHeader(List<String> lines) throws FileFormatException {
        header = lines.isEmpty() ? "" : lines.get(0).strip();
        String[] names = header.split(",", -1);
        for (int i = 0; i < names.length; i++) {
            String name = names[i].strip();
            if (columns.put(ALIASES.getOrDefault(name, name), i) != null) {
                throw complaint(1, "each column once", "a second " + name);
            }
        }
        Integer end = columns.remove("end");
        if (end != null && columns.putIfAbsent("upper", end) == null) {
            afterEnd = 1;
        }
        if (!columns.keySet().containsAll(REQUIRED) || !columns.containsKey("upper")) {
            throw complaint(1, "columns id,lower,upper,size", header.isEmpty() ? "nothing" : header);
        }
    }

    private void add(PlanProblem.Builder builder, int line, String[] cells) throws FileFormatException {
        int width = header.split(",", -1).length;
        if (cells.length != width) {
            throw complaint(line, width + " cells", cells.length + " cells");
        }
        try {
            builder.add(
                    number(line, cell(cells, "lower")),
                    Math.addExact(number(line, cell(cells, "upper")), afterEnd),
                    number(line, cell(cells, "size")));
            if (!cell(cells, "alignment").isEmpty()) {
                builder.alignment(number(line, cell(cells, "alignment")));
            }
            if (!cell(cells, "offset").isEmpty()) {
                builder.fixedAt(number(line, cell(cells, "offset")));
            }
            addGaps(builder, line, cell(cells, "gaps"));
        } catch (IllegalArgumentException e) {
            throw complaint(line, "a buffer that makes sense", String.valueOf(e.getMessage()));
        }
    }

    private void addGaps(PlanProblem.Builder builder, int line, String text) throws FileFormatException {
        List<long[]> gaps = new ArrayList<>();
        for (String gap : text.isEmpty() ? new String[0] : text.split(" +")) {
            String[] parts = gap.split("[-@:]", -1);
            if (!gap.matches("\\d+-\\d+(@\\d+:\\d+)?")) {
                throw complaint(line, "gaps as from-to or from-to@low:high", gap);
            }
            long[] numbers = new long[4];
            for (int i = 0; i < parts.length; i++) {
                numbers[i] = number(line, parts[i]);
            }
            gaps.add(numbers);
        }
        gaps.sort((a, b) -> Long.compare(a[0], b[0]));
        for (long[] gap : gaps) {
            builder.gap(gap[0], gap[1] + afterEnd, gap[2], gap[3]);
        }
    }

    private String cell(String[] cells, String name) {
        Integer column = columns.get(name);
        return column == null ? "" : cells[column].strip();
    }

    private long number(int line, String text) throws FileFormatException {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw complaint(line, "an integer", "'" + text + "'");
        }
    }

    private FileFormatException complaint(int line, String expected, String found) {
        return new FileFormatException(
                path, "line " + line, expected, found, "Write one line for each buffer as MiniMalloc does");
    }
}
