// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import java.util.HashSet;
import java.util.Set;

/**
 * Keeps a tag's values few: the first names that come keep their own, later ones share {@value #OTHER}. A name keeps its
 * label until released, so that counters never change theirs. Threading: safe.
 */
final class BoundedNames {
    static final String OTHER = "other";

    private final int limit;
    private final Set<String> own = new HashSet<>();

    BoundedNames(int limit) {
        this.limit = limit;
    }

    /** The name itself, or {@value #OTHER}. */
    synchronized String labelOf(String name) {
        if (own.contains(name)) {
            return name;
        }
        if (own.size() < limit && !name.equals(OTHER)) {
            own.add(name);
            return name;
        }
        return OTHER;
    }

    /** Makes room for another; true when the name had a label of its own. */
    synchronized boolean release(String name) {
        return own.remove(name);
    }
}
