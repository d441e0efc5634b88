// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.oom.PostMortem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes post-mortems as {@code memopt-oom-PID-N.txt} and {@code .json}; the {@value #MOST} of one process are the first ones, since
 * these tell where it began. Threading: safe.
 */
public final class ReportFiles {
    /** Of one process and directory. */
    public static final int MOST = 8;

    private static final Logger log = LoggerFactory.getLogger(ReportFiles.class);

    private static final ConcurrentHashMap<Path, ReportFiles> DIRECTORIES = new ConcurrentHashMap<>();

    private final Path directory;
    private int written;

    private ReportFiles(Path directory) {
        this.directory = directory;
    }

    /** Those of {@code directory}, which is made when the first is written; the same for all who ask, so that none is overwritten. */
    public static ReportFiles in(Path directory) {
        return DIRECTORIES.computeIfAbsent(directory.toAbsolutePath().normalize(), ReportFiles::new);
    }

    /** The text file; empty when enough were written, or it could not be. Never throws. */
    public synchronized Optional<Path> write(PostMortem dead) {
        if (written == MOST) {
            return Optional.empty();
        }
        String name = "memopt-oom-" + ProcessHandle.current().pid() + "-" + (written + 1);
        try {
            Files.createDirectories(directory);
            Path text = directory.resolve(name + ".txt");
            Files.writeString(text, dead.toString());
            Files.writeString(directory.resolve(name + ".json"), dead.toJson());
            written++;
            return Optional.of(text);
        } catch (IOException | RuntimeException e) {
            log.warn("No post-mortem was written to {}: {}", directory, e.toString());
            return Optional.empty();
        }
    }
}
