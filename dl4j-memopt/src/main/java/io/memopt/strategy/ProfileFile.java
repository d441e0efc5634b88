// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A {@link PlanProfile} and the file that keeps it, if any; trouble with the file is told and stops nothing. */
final class ProfileFile {
    private static final Logger log = LoggerFactory.getLogger(ProfileFile.class);

    private final @Nullable Path path;
    private final PlanProfile profile;

    private ProfileFile(@Nullable Path path, PlanProfile profile) {
        this.path = path;
        this.profile = profile;
    }

    /** Reads {@code path} if it exists; null keeps nothing. */
    static ProfileFile open(@Nullable Path path) {
        if (path == null || !Files.exists(path)) {
            return new ProfileFile(path, PlanProfile.empty());
        }
        try {
            return new ProfileFile(path, PlanProfile.read(path));
        } catch (IOException e) {
            log.warn("{}. Plans and sizes are learnt anew.", e.getMessage());
            return new ProfileFile(path, PlanProfile.empty());
        }
    }

    PlanProfile profile() {
        return profile;
    }

    /** Writes the profile once {@code update} has put in what is new. */
    void save(Consumer<PlanProfile> update) {
        if (path == null) {
            return;
        }
        try {
            update.accept(profile);
            profile.write(path);
        } catch (IOException | RuntimeException e) {
            log.warn("Plans and sizes could not be kept in {}: {}", path, e.toString());
        }
    }
}
