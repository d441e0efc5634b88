// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.List;

/**
 * The moment at which a sum was largest, for the first time, and what it was made of.
 *
 * @param bytes the sum; equals the sum of the bytes of {@code shares}
 * @param timeNanos time of the event that made it
 * @param event number of that event, from 0
 * @param iteration training iterations ended before, on all threads
 * @param owner for whom the allocation was that made it
 * @param shares composition, largest first
 * @param holders the largest allocations behind it with their whole lives, largest first; at most
 *     {@link AnalysisOptions#maxHolders()}
 * @param allocations how many there were, those left out of {@code holders} included
 */
public record Peak(
        Measure measure,
        MemorySpace space,
        long bytes,
        long timeNanos,
        long event,
        long iteration,
        Owner owner,
        List<Share> shares,
        List<Lifetime> holders,
        long allocations) {

    public Peak {
        shares = List.copyOf(shares);
        holders = List.copyOf(holders);
    }

    /** What a share is. */
    public enum Part {
        /** Arrays: detached, spilled, or inside a block. */
        ARRAYS,
        /** Bytes of workspace blocks that no array occupies; only in reserved peaks. */
        BLOCK_FREE,
        /** Arrays of workspaces whose block is not in the trace, as a negative number; only in reserved peaks. */
        BLOCK_UNKNOWN
    }

    /**
     * Bytes of one kind and origin.
     *
     * @param workspace ND4J workspace name, {@code ""} for detached memory
     * @param bytes rounded bytes
     * @param allocations arrays, or blocks
     */
    public record Share(
            Part part,
            Category category,
            String network,
            String layer,
            Phase phase,
            String workspace,
            long bytes,
            long allocations) {}
}
