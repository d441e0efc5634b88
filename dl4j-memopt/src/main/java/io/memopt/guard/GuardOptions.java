// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/**
 * What is done about exhaustion.
 *
 * @param mode when an iteration runs out of memory
 * @param reports directory for post-mortems, made when there is one to write
 * @param limitBytes most that ND4J may hold where its arrays lie, at least 1 MiB; {@link #NO_LIMIT} for as much as there is
 */
public record GuardOptions(OutOfMemory mode, Path reports, long limitBytes) {
    public static final long NO_LIMIT = Long.MAX_VALUE;

    /** Nothing in the training step, no limit; post-mortems that are asked for go to {@code memopt-oom}. */
    public static final GuardOptions DEFAULTS = new GuardOptions(OutOfMemory.REPORT, Path.of("memopt-oom"), NO_LIMIT);

    private static final long MIN_LIMIT = 1 << 20;

    public GuardOptions {
        Objects.requireNonNull(mode, "mode");
        Objects.requireNonNull(reports, "reports");
        if (Files.exists(reports) && !Files.isDirectory(reports)) {
            throw new IllegalArgumentException("postMortems=" + reports + " is a file, expected a folder");
        }
        if (limitBytes < MIN_LIMIT) {
            throw new IllegalArgumentException("limitBytes=" + limitBytes + ", expected at least " + MIN_LIMIT);
        }
    }
}
