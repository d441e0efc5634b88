// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import java.util.Comparator;
import java.util.List;

/**
 * Reserved bytes at one moment and what they are for.
 *
 * @param bytes sum of the parts
 * @param parts largest first
 */
public record Composition(long bytes, List<Part> parts) {

    public Composition {
        parts = List.copyOf(parts);
    }

    static Composition of(List<Part> parts) {
        List<Part> sorted = parts.stream()
                .filter(part -> part.bytes() > 0)
                .sorted(Comparator.comparingLong(Part::bytes).reversed())
                .toList();
        return new Composition(sorted.stream().mapToLong(Part::bytes).sum(), sorted);
    }

    /** Bytes of one category. */
    public long bytes(Category category) {
        return parts.stream()
                .filter(part -> part.category() == category)
                .mapToLong(Part::bytes)
                .sum();
    }

    /** Bytes of one workspace, block with head-room and spills; of memory outside of workspaces for {@code ""}. */
    public long bytes(String workspace) {
        return parts.stream()
                .filter(part -> part.workspace().equals(workspace))
                .mapToLong(Part::bytes)
                .sum();
    }
}
