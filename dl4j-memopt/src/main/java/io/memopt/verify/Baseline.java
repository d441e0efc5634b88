// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import io.memopt.allocator.nd4j.Settings;
import io.memopt.allocator.recording.ByteSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Figures of a run in a small JSON file, to be kept beside the test and looked at in reviews. */
final class Baseline {
    static final String UPDATE_PROPERTY = Settings.UPDATE_BASELINES;

    private static final String FORMAT = "memopt-baseline-1";
    /** Smaller differences are noise: scalars of ND4J that a collection came early or late for. */
    private static final long NOISE_BYTES = 4096;

    private static final Gson GSON =
            new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

    /** What makes runs comparable. */
    private final Map<String, String> run = new LinkedHashMap<>();

    private final Map<String, Long> figures = new LinkedHashMap<>();

    private Baseline() {}

    static boolean isUpdating() {
        return Settings.isOn(Settings.UPDATE_BASELINES);
    }

    static Baseline of(RunRecord record) {
        MemoryFigures figures = record.figures();
        Baseline baseline = new Baseline();
        baseline.run.put("network", record.description());
        baseline.run.put("space", figures.space().name().toLowerCase(Locale.ROOT));
        baseline.run.put("iterations", String.valueOf(figures.iterations()));
        baseline.run.put("warmup", String.valueOf(figures.warmup()));
        baseline.figures.put("promptPeakBytes", figures.promptPeakBytes());
        baseline.figures.put("heldBytes", figures.heldBytes());
        baseline.figures.put("garbageBytesPerIteration", figures.garbageBytes());
        baseline.figures.put("driverBytesPerIteration", figures.driverBytes());
        return baseline;
    }

    /**
     * Reads what {@link #write} wrote.
     *
     * @throws AssertionError if the file does not exist, or is something else
     */
    static Baseline read(Path file) {
        try {
            Content content = GSON.fromJson(Files.readString(file, StandardCharsets.UTF_8), Content.class);
            if (content == null || !FORMAT.equals(content.format) || content.run == null || content.figures == null) {
                throw new AssertionError(file + " is no baseline of format " + FORMAT + remedy());
            }
            Baseline baseline = new Baseline();
            baseline.run.putAll(content.run);
            baseline.figures.putAll(content.figures);
            return baseline;
        } catch (NoSuchFileException e) {
            throw new AssertionError("There is no baseline " + file + " to compare with" + remedy(), e);
        } catch (JsonParseException e) {
            throw new AssertionError(
                    file + " is no baseline of format " + FORMAT + ": " + e.getMessage() + remedy(), e);
        } catch (IOException e) {
            throw new UncheckedIOException("The baseline " + file + " cannot be read: " + e.getMessage(), e);
        }
    }

    void write(Path file) {
        try {
            Path parent = file.toAbsolutePath().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.writeString(file, GSON.toJson(new Content(FORMAT, run, figures)) + "\n", StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("The baseline " + file + " cannot be written: " + e.getMessage(), e);
        }
    }

    /**
     * What is worse here, in words.
     *
     * @param share by how much a figure may exceed the other one, 0.05 for 5 %
     * @throws AssertionError if the two runs are of different kinds
     */
    List<String> worseThan(Baseline before, double share, Path file) {
        if (!run.equals(before.run)) {
            throw new AssertionError(
                    file + " was written by another kind of run: " + before.run + ", now " + run + remedy());
        }
        List<String> worse = new ArrayList<>();
        figures.forEach((name, now) -> {
            long then = Objects.requireNonNullElse(before.figures.get(name), 0L);
            if (now - then >= NOISE_BYTES && now > then * (1 + share)) {
                String more = then == 0 ? "" : String.format(Locale.ROOT, " (+%.1f %%)", 100.0 * (now - then) / then);
                worse.add(name + " " + ByteSize.format(now) + ", was " + ByteSize.format(then) + more);
            }
        });
        return worse;
    }

    private static String remedy() {
        return ". Run the test once with -D" + UPDATE_PROPERTY + "=true to write it, look at it, and commit it.";
    }

    /** The file; Gson fills in null for what is missing. */
    private record Content(
            @Nullable String format,
            @Nullable Map<String, String> run,
            @Nullable Map<String, Long> figures) {}
}
