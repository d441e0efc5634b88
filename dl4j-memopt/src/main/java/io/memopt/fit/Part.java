// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Phase;
import java.util.List;

/**
 * A part of a predicted peak.
 *
 * @param workspace whose block or spill it is, {@code ""} for memory outside of workspaces
 * @param category what the bytes are for
 * @param layer who needs them, {@code ""} when no single layer does
 * @param phase when they are needed
 * @param bytes sum of the arrays, each rounded as ND4J rounds it
 * @param arrays bytes of the arrays, largest first; empty for the head-room of a block
 */
public record Part(String workspace, Category category, String layer, Phase phase, long bytes, List<Long> arrays) {

    public Part {
        arrays = List.copyOf(arrays);
    }

    /** Memory outside of workspaces that no single layer needs. */
    static Part whole(Category category, long bytes) {
        return new Part("", category, "", Phase.NONE, bytes, List.of(bytes));
    }
}
