// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Where arrays lie that are used seldom, while they are not used.
 *
 * @param folder folder of mapped files, with a CPU backend; empty for {@link #HOST}
 */
public record Offload(Optional<Path> folder) {
    /** Page-locked memory of the host, with a CUDA backend: copies go beside training, on streams of their own. */
    public static final Offload HOST = new Offload(Optional.empty());

    /** Mapped files in {@code folder}, a directory that exists. */
    public static Offload files(Path folder) {
        return new Offload(Optional.of(folder));
    }

    /** {@code HOST}, or the folder. */
    @Override
    public String toString() {
        return folder.map(Path::toString).orElse("HOST");
    }
}
