// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/** Arithmetic of sizes. */
final class Rounding {
    private Rounding() {}

    /** The smallest multiple of {@code unit} that is at least {@code bytes} and at least one unit. */
    static long up(long bytes, long unit) {
        return Math.max(unit, Math.addExact(bytes, unit - 1) / unit * unit);
    }
}
