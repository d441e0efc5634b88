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

    /** Names of layers come from users; every scrape carries them many times. */
    private static final int MAX_LENGTH = 120;

    private final int limit;
    private final Set<String> own = new HashSet<>();

    BoundedNames(int limit) {
        this.limit = limit;
    }

    /** The name itself, cut to {@value #MAX_LENGTH} characters, or {@value #OTHER}. */
    synchronized String labelOf(String fullName) {
        String name = cut(fullName);
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
        return own.remove(cut(name));
    }

    /** The name as far as a label may be long. */
    static String cut(String name) {
        return name.length() <= MAX_LENGTH ? name : name.substring(0, MAX_LENGTH);
    }
}
