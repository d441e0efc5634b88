// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import org.jspecify.annotations.Nullable;

/**
 * Counts the arrays that one thread placed in workspaces. Time in this count is what planning needs: an array may take the
 * bytes of another exactly when it was born after the last use of the other, whatever happened between two births.
 *
 * <p>Threading: written by its thread; others read a value that may be a moment old.
 */
final class UseClock {
    private long births;
    private @Nullable UseWindow window;

    /** Arrays born so far; the next one gets this number. */
    long births() {
        return births;
    }

    /** Number of the newest array, -1 before the first. */
    long newest() {
        return births - 1;
    }

    @Nullable
    UseWindow window() {
        return window;
    }

    void window(@Nullable UseWindow newWindow) {
        window = newWindow;
    }

    void born(ArrayUse array) {
        births++;
        UseWindow open = window;
        if (open != null) {
            open.add(array);
        }
    }
}
