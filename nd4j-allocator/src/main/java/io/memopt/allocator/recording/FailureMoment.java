// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.List;
import java.util.Map;

/**
 * The state of the books when the operating system or driver refused a request: scopes are closed and arrays gone by the time
 * that anyone hears of the failure. Immutable.
 *
 * @param timeNanos {@link System#nanoTime()} of the refusal
 * @param threadId thread that asked
 * @param iteration training iteration of that thread, -1 before the first
 * @param space where memory was asked for
 * @param kind what it was to be
 * @param owner for whom: network, layer, phase, category, workspace
 * @param requestedBytes how much
 * @param reservedBytes held in that space then
 * @param inUse bytes of arrays in all spaces, by category
 * @param owners the owners with most bytes in use, largest first, at most {@value #MOST_OWNERS}
 * @param blocks blocks of workspaces, largest first, at most {@value #MOST_BLOCKS}
 */
public record FailureMoment(
        long timeNanos,
        long threadId,
        long iteration,
        MemorySpace space,
        AllocationKind kind,
        Owner owner,
        long requestedBytes,
        long reservedBytes,
        Map<Category, Long> inUse,
        List<OwnerUsage> owners,
        List<Block> blocks) {
    /** Failures that the books remember; the latest. */
    public static final int MOST_FAILURES = 16;

    static final int MOST_OWNERS = 32;
    static final int MOST_BLOCKS = 32;

    public FailureMoment {
        inUse = Map.copyOf(inUse);
        owners = List.copyOf(owners);
        blocks = List.copyOf(blocks);
    }

    /**
     * The block of a workspace.
     *
     * @param address its start, 0 when not known
     * @param filledBytes of arrays in it; the rest is a hole at its end that only this workspace can use
     */
    public record Block(String workspace, String thread, long address, long bytes, long filledBytes) {
        /** Bytes that no array occupies. */
        public long holeBytes() {
            return Math.max(0, bytes - filledBytes);
        }
    }
}
