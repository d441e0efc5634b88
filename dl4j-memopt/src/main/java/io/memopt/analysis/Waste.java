// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.List;
import java.util.OptionalLong;

/**
 * Where reserved bytes went, in all spaces together, at the moment of the reserved peak of the focus space. Known parts are
 * disjoint and sum to {@code reservedBytes} together with {@link Kind#REQUESTED}; {@link Kind#UNATTRIBUTED} comes on top.
 */
public record Waste(long reservedBytes, List<Part> parts) {

    public Waste {
        parts = List.copyOf(parts);
    }

    /** Where a byte went. */
    public enum Kind {
        /** Asked for by arrays of networks and of running layers: not waste as far as the trace knows. */
        REQUESTED,
        /** Arrays made larger than asked for. */
        ROUNDING,
        /** Detached arrays that were then freed by a deallocator thread, i.e. that waited for the Java collector, or never. */
        GARBAGE,
        /** Part of a block that its arrays never filled while the block existed. */
        OVER_ALLOCATION,
        /** Part of a block that was free at this moment and filled at another. */
        FREE_NOW,
        /** Blocks of threads that had no array in any workspace. */
        IDLE_THREADS,
        /** Page-locked or host copies of device blocks. */
        PINNED_MIRRORS,
        /** Arrays that are read no more but held to the end of their scope. */
        DEAD_IN_SCOPE,
        /** Held by a memory pool below ND4J. */
        POOL_FREE,
        /** Memory of the process that no event explains: libraries, native temporaries, allocator retention. */
        UNATTRIBUTED
    }

    /**
     * One part.
     *
     * @param bytes absent when the trace cannot tell
     * @param remark how the figure was found, or what is missing to find it
     */
    public record Part(Kind kind, OptionalLong bytes, String remark) {}
}
