// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.List;

/**
 * How much memory the workspace arrays of one thread needed at least, and how much its workspaces took. Ring buffers of
 * prefetching iterators are left out.
 *
 * <p>The bound counts an array from its birth to its last use that was seen. Reads of single elements through a raw pointer are
 * not seen; {@link #unseenArrays()} says how many arrays were never seen in use, which count at their birth only. No
 * placement needs less than the bound; whether one reaches it is a matter of planning.
 *
 * @param thread {@link Thread#getId()}
 * @param threadName empty when unknown
 * @param blockBytes most that the blocks of its workspaces took together
 * @param reservedBytes the same with arrays that did not fit
 * @param arrayBytes most bytes of arrays between birth and end of scope
 * @param lowerBoundBytes most bytes of arrays between birth and last use
 * @param arrays arrays placed
 * @param unseenArrays those never seen in use
 * @param unseenBytes their bytes, summed
 * @param unknownArrays those whose use was not recorded; they count to the end of their scope
 * @param exact false when an array lived so long that the bound is only an upper estimate of itself
 * @param workspaces the same for each workspace alone, largest block first; their bounds need not add up
 */
public record LivenessRow(
        long thread,
        String threadName,
        long blockBytes,
        long reservedBytes,
        long arrayBytes,
        long lowerBoundBytes,
        long arrays,
        long unseenArrays,
        long unseenBytes,
        long unknownArrays,
        boolean exact,
        List<Share> workspaces) {

    public LivenessRow {
        workspaces = List.copyOf(workspaces);
    }

    /**
     * One workspace of the thread.
     *
     * @param id number of the instance
     * @param blockBytes largest block
     * @param arrayBytes most bytes of arrays between birth and end of scope
     * @param lowerBoundBytes most bytes of arrays between birth and last use
     */
    public record Share(int id, String name, long blockBytes, long arrayBytes, long lowerBoundBytes) {}

    /** Blocks divided by the bound: what planned placement could save at best. 1 when there is nothing to save. */
    public double ratio() {
        return lowerBoundBytes == 0 ? 1 : (double) blockBytes / lowerBoundBytes;
    }
}
