// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Exactness;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;

/**
 * How much memory there is, and what may be done to keep to it. Immutable.
 *
 * @param bytes the budget, 0 when a share is given
 * @param share of what is free, above 0 and at most 1; 0 when bytes are given
 * @param exactness loosest class that a strategy may have, relative to convolutions as an engine computes them: which of its algorithms it
 *     takes, and so in which order they sum, depends on the scratch memory that a budget leaves it
 * @param profile file that keeps decisions across runs, if any
 */
public record BudgetOptions(long bytes, double share, Exactness exactness, Optional<Path> profile) {
    /** No budget. */
    public static final BudgetOptions NONE = new BudgetOptions(0, 0, Exactness.BITWISE, Optional.empty());

    public BudgetOptions {
        Objects.requireNonNull(exactness, "exactness");
        Objects.requireNonNull(profile, "profile");
        if (bytes < 0) {
            throw new IllegalArgumentException("budget=" + bytes + " B, expected more than 0");
        }
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("budget=" + share + ", expected a share above 0 and at most 1");
        }
        if (bytes > 0 && share > 0) {
            throw new IllegalArgumentException(
                    "budget=" + ByteSize.format(bytes) + " and budget=" + share + ", expected one of them");
        }
    }

    /** Whether there is a budget at all. */
    public boolean isSet() {
        return bytes > 0 || share > 0;
    }

    /** A budget of so many bytes, at least 1. */
    public BudgetOptions withBytes(long budget) {
        if (budget < 1) {
            throw new IllegalArgumentException("budget=" + budget + " B, expected more than 0");
        }
        return new BudgetOptions(budget, 0, exactness, profile);
    }

    /** A budget of a share of what is free. */
    public BudgetOptions withShare(double ofFree) {
        if (!(ofFree > 0)) {
            throw new IllegalArgumentException("budget=" + ofFree + ", expected a share above 0 and at most 1");
        }
        return new BudgetOptions(0, ofFree, exactness, profile);
    }

    public BudgetOptions withExactness(Exactness loosest) {
        return new BudgetOptions(bytes, share, loosest, profile);
    }

    public BudgetOptions withProfile(Path file) {
        return new BudgetOptions(bytes, share, exactness, Optional.of(file));
    }

    /** What was asked for, e.g. {@code 6.00 GiB (6442450944 B)} or {@code 80 % of free memory}. */
    @Override
    public String toString() {
        return bytes > 0 ? ByteSize.format(bytes) : String.format(Locale.ROOT, "%.4g %% of free memory", 100 * share);
    }
}
