// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.memopt.strategy.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Choices kept across runs, as JSON; trouble with the file is told and stops nothing. Bounded: the {@value #MAX_CHOICES} latest.
 *
 * <pre>
 *   {"format": "memopt-budgets", "version": 3, "choices": {KEY: {"plain": ROW, "chosen": ROW, "front": [ROW, ..]}, ..}}
 * </pre>
 */
final class BudgetProfile {
    static final int MAX_CHOICES = 64;

    private static final Logger log = LoggerFactory.getLogger(BudgetProfile.class);
    private static final String FORMAT = "memopt-budgets";
    private static final int VERSION = 3;
    private static final Gson GSON =
            new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

    private final @Nullable Path file;

    private BudgetProfile(@Nullable Path file) {
        this.file = file;
    }

    /** What was chosen, and among what. */
    record Remembered(BudgetRow plain, BudgetRow chosen, List<BudgetRow> front) {
        Remembered {
            front = List.copyOf(front);
        }
    }

    private record Document(
            String format, int version, @Nullable Map<String, Remembered> choices) {}

    /** Of {@code file}; of none, which remembers nothing. */
    static BudgetProfile of(Optional<Path> file) {
        return new BudgetProfile(file.orElse(null));
    }

    /** Whether there is a file at all. */
    boolean isKept() {
        return file != null;
    }

    /** What was chosen for {@code key}. */
    Optional<Remembered> find(String key) {
        return Optional.ofNullable(choices().get(key));
    }

    /** Remembers. */
    void put(String key, Remembered choice) {
        if (file == null) {
            return;
        }
        Map<String, Remembered> choices = new LinkedHashMap<>(choices());
        choices.remove(key);
        choices.put(key, choice);
        while (choices.size() > MAX_CHOICES) {
            choices.remove(choices.keySet().iterator().next());
        }
        try {
            WholeFile.write(file, GSON.toJson(new Document(FORMAT, VERSION, choices)) + "\n");
        } catch (IOException e) {
            log.warn("The choice for the budget could not be kept in {}: {}", file, e.toString());
        }
    }

    private Map<String, Remembered> choices() {
        if (file == null || !Files.exists(file)) {
            return Map.of();
        }
        try {
            Document document = GSON.fromJson(Files.readString(file, StandardCharsets.UTF_8), Document.class);
            if (document != null
                    && FORMAT.equals(document.format())
                    && document.version() == VERSION
                    && document.choices() != null) {
                return new LinkedHashMap<>(document.choices());
            }
            log.warn("{} is no profile of budgets of version {}. Budgets are decided anew.", file, VERSION);
        } catch (IOException | RuntimeException e) { // Gson throws what the records do when a row makes no sense.
            log.warn("{} cannot be read: {}. Budgets are decided anew.", file, e.toString());
        }
        return Map.of();
    }
}
