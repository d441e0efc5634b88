// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** Problems from files; see the README beside them. */
final class Instances {
    static final long CAPACITY = 1_048_576;

    private Instances() {}

    static PlanProblem miniMalloc(String name) {
        return read("/plan/minimalloc/" + name + ".1048576.csv");
    }

    static PlanProblem recorded(String name) {
        return read("/plan/recorded/" + name + ".csv");
    }

    /** Columns id, lower, upper, size. */
    private static PlanProblem read(String resource) {
        PlanProblem.Builder builder = PlanProblem.builder();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(Instances.class.getResourceAsStream(resource)), StandardCharsets.UTF_8))) {
            reader.lines()
                    .skip(1)
                    .map(line -> line.split(",", -1))
                    .forEach(cells ->
                            builder.add(Long.parseLong(cells[1]), Long.parseLong(cells[2]), Long.parseLong(cells[3])));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return builder.build();
    }
}
