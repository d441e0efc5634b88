// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

/**
 * Bytes of an arena that no array has between two births.
 *
 * @param offset of the largest gap below {@code top}, from the start of the arena
 * @param bytes of that gap; 0 when there is none
 * @param top end of the highest array; what lies above is free, too
 */
record SpareBytes(long offset, long bytes, long top) {
    /** Offset of {@code wanted} bytes in an arena of {@code arenaBytes}, or {@link PlanCursor#MISS}. */
    long find(long wanted, long arenaBytes) {
        if (bytes >= wanted) {
            return offset;
        }
        return arenaBytes - top >= wanted ? top : PlanCursor.MISS;
    }
}
