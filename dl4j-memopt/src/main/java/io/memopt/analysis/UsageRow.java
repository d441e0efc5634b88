// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;

/**
 * What arrays of one group had. {@code K} says by what is grouped.
 *
 * @param endBytes in use at the end of the trace
 * @param peakBytes most of this group in use at one moment; peaks of several groups need not coincide
 * @param allocations number of arrays
 * @param allocatedBytes their rounded bytes, summed over the whole trace
 * @param roundingBytes part of {@code allocatedBytes} that nobody asked for
 */
public record UsageRow<K>(
        K key,
        MemorySpace space,
        long endBytes,
        long peakBytes,
        long allocations,
        long allocatedBytes,
        long roundingBytes) {}
