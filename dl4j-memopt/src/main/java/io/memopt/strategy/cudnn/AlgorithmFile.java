// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import io.memopt.allocator.cudnn.AlgorithmStore;
import io.memopt.allocator.cudnn.AlgorithmTable;
import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionMath;
import io.memopt.strategy.WholeFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tables of algorithms kept across runs, as JSON. Keys name device, library version, rules, pass and shape.
 *
 * <pre>
 *   {"format": "memopt-convolutions", "version": 1, "tables": {KEY: {"searchedBytes": .., "measured": .., "ways": [[..], ..]}, ..}}
 *   a way: cuDNN's number, math (0 FMA, 1 TF32), parts, scratch bytes, nanoseconds
 * </pre>
 *
 * <p>Bounded: {@value #MOST_TABLES} tables, the oldest give way, and files above {@value #MOST_BYTES} bytes are refused. A file
 * that is damaged is never overwritten: it is refused with a message, and tables are measured again. Threading: safe.
 */
final class AlgorithmFile implements AlgorithmStore {
    static final int MOST_TABLES = 8192;
    static final int MOST_BYTES = 64 << 20;

    private static final Logger log = LoggerFactory.getLogger(AlgorithmFile.class);
    private static final String FORMAT = "memopt-convolutions";
    private static final int VERSION = 1;
    private static final int FIELDS = 5;
    private static final int MOST_WAYS = 256;
    private static final Gson GSON = new Gson();

    private final @Nullable Path file;
    private final Map<String, AlgorithmTable> tables;
    private boolean changed;

    private static final class Document {
        @Nullable
        String format;

        int version;

        @Nullable
        LinkedHashMap<String, Table> tables;
    }

    private static final class Table {
        long searchedBytes;
        boolean measured;

        @Nullable
        List<List<Long>> ways;
    }

    private AlgorithmFile(@Nullable Path file, Map<String, AlgorithmTable> tables) {
        this.file = file;
        this.tables = tables;
    }

    /** Remembers for the life of this object only. */
    static AlgorithmFile inMemory() {
        return new AlgorithmFile(null, new LinkedHashMap<>());
    }

    /** With the content of {@code file}, which need not exist; one that is refused is warned of and left alone. */
    static AlgorithmFile open(Path file) {
        if (!Files.exists(file)) {
            return new AlgorithmFile(file, new LinkedHashMap<>());
        }
        try {
            return new AlgorithmFile(file, read(file));
        } catch (IOException e) {
            log.warn(
                    "{} Algorithms are measured again and not kept. Delete the file, or name another with withCache(...).",
                    e.getMessage());
            return inMemory();
        }
    }

    @Override
    public synchronized Optional<AlgorithmTable> find(String key) {
        return Optional.ofNullable(tables.get(key));
    }

    @Override
    public synchronized void put(String key, AlgorithmTable table) {
        tables.remove(key);
        tables.put(key, table);
        while (tables.size() > MOST_TABLES) {
            tables.remove(tables.keySet().iterator().next());
        }
        changed = true;
    }

    /** Writes what is new, in one step: a reader sees the old or the new content. Never throws. */
    synchronized void save() {
        if (file == null || !changed) {
            return;
        }
        try {
            write(file);
            changed = false;
        } catch (IOException e) {
            log.warn("Measured algorithms are not kept: {} cannot be written: {}", file, e.toString());
        }
    }

    private void write(Path target) throws IOException {
        Document document = new Document();
        document.format = FORMAT;
        document.version = VERSION;
        LinkedHashMap<String, Table> rows = new LinkedHashMap<>();
        tables.forEach((key, table) -> rows.put(key, row(table)));
        document.tables = rows;
        WholeFile.write(target, GSON.toJson(document));
    }

    private static Map<String, AlgorithmTable> read(Path file) throws IOException {
        long bytes = Files.size(file);
        if (bytes > MOST_BYTES) {
            throw new IOException(file + " holds " + bytes + " B, expected at most " + MOST_BYTES + ".");
        }
        Document document;
        try {
            document = GSON.fromJson(Files.readString(file), Document.class);
        } catch (JsonParseException | IOException e) {
            throw new IOException(file + " holds no algorithms: " + e.getMessage() + ".", e);
        }
        if (document == null || !FORMAT.equals(document.format) || document.version != VERSION) {
            throw new IOException(file + " holds no algorithms: its format is "
                    + (document == null ? null : document.format + " " + document.version) + ", expected " + FORMAT
                    + " "
                    + VERSION + ".");
        }
        Map<String, AlgorithmTable> tables = new LinkedHashMap<>();
        Map<String, Table> rows = document.tables == null ? Map.of() : document.tables;
        for (Map.Entry<String, Table> row : rows.entrySet()) {
            tables.put(row.getKey(), table(file, row.getKey(), row.getValue()));
        }
        return tables;
    }

    private static AlgorithmTable table(Path file, String key, @Nullable Table row) throws IOException {
        try {
            if (row == null || row.ways == null || row.ways.size() > MOST_WAYS) {
                throw new IllegalArgumentException("no ways, or more than " + MOST_WAYS);
            }
            List<ConvolutionAlgorithm> ways = new ArrayList<>();
            for (List<Long> way : row.ways) {
                ways.add(way(way));
            }
            return new AlgorithmTable(row.searchedBytes, row.measured, ways);
        } catch (RuntimeException e) {
            throw new IOException(file + " is damaged at " + key + ": " + e.getMessage() + ".", e);
        }
    }

    private static ConvolutionAlgorithm way(List<Long> way) {
        if (way.size() != FIELDS) {
            throw new IllegalArgumentException(way.size() + " fields, expected " + FIELDS);
        }
        return new ConvolutionAlgorithm(
                Math.toIntExact(way.get(0)),
                ConvolutionMath.values()[Math.toIntExact(way.get(1))],
                Math.toIntExact(way.get(2)),
                way.get(3),
                way.get(4));
    }

    private static Table row(AlgorithmTable table) {
        Table row = new Table();
        row.searchedBytes = table.searchedBytes();
        row.measured = table.measured();
        row.ways = table.algorithms().stream()
                .map(way -> List.of(
                        (long) way.id(),
                        (long) way.math().ordinal(),
                        (long) way.parts(),
                        way.scratchBytes(),
                        way.nanos()))
                .toList();
        return row;
    }
}
