// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/**
 * What an allocation is to ND4J. All kinds but {@link #WORKSPACE_ARRAY} hold memory of their own; a workspace array lives
 * inside a {@link #WORKSPACE_BLOCK} and must never be added to it. Views of arrays are no allocations at all.
 *
 * <p>Order is part of the trace format: append only.
 */
public enum AllocationKind {
    /** The contiguous block behind a workspace. */
    WORKSPACE_BLOCK,
    /** An array placed inside a workspace block; released as one with the scope. */
    WORKSPACE_ARRAY,
    /** An array that did not fit its workspace and got memory of its own until the scope is entered again. */
    SPILL,
    /** As {@link #SPILL}, in a circular workspace: lives for two more generations of the buffer. */
    PINNED_SPILL,
    /** An array outside every workspace: lives until closed or garbage collected. */
    DETACHED;

    /** True when bytes of this kind are obtained from the operating system or driver, not from a block. */
    public boolean ownsMemory() {
        return this != WORKSPACE_ARRAY;
    }

    /** True for arrays of workspaces that lie beside their block. */
    public boolean isSpill() {
        return this == SPILL || this == PINNED_SPILL;
    }
}
