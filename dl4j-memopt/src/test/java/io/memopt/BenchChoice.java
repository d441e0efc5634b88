// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.util.Arrays;
import java.util.List;

/** What a bench measures, from a system property that names constants with commas. */
final class BenchChoice {
    private BenchChoice() {}

    /** All of them when the property is not set. */
    static <E extends Enum<E>> List<E> of(Class<E> all, String property) {
        String names = System.getProperty(property, "");
        return names.isEmpty()
                ? List.of(all.getEnumConstants())
                : Arrays.stream(names.split(",", -1))
                        .map(name -> Enum.valueOf(all, name))
                        .toList();
    }
}
