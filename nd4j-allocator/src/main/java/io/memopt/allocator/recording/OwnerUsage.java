// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;

/**
 * What one owner has and had in one memory space. Bytes in use: detached arrays, spills and arrays in workspace blocks.
 *
 * @param liveBytes in use now, exact
 * @param peakBytes most in use at once since the start
 * @param allocations number of allocations so far
 * @param allocatedBytes their bytes
 */
public record OwnerUsage(
        Owner owner, MemorySpace space, long liveBytes, long peakBytes, long allocations, long allocatedBytes) {}
