// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.MemorySpace;

/**
 * What a run took, in bytes. Reserved memory: workspace blocks, spills, detached arrays and the network's flat arrays.
 *
 * @param space what the peaks and the figures per iteration are about: the device if it was used, else the host
 * @param iterations iterations run, warm-up included
 * @param warmup how many of them were warm-up
 * @param peakBytes most reserved at once, as it was; depends on when the Java collector ran
 * @param promptPeakBytes most reserved at once had each array that the collector freed gone at the end of the iteration
 *     that made it; does not depend on when the collector ran, and is therefore what baselines compare
 * @param garbageBytes detached bytes that an iteration after the warm-up left to the Java collector, on average
 * @param driverBytes bytes that an iteration after the warm-up took from the operating system or driver, on average, in
 *     allocations of any size
 * @param heldBytes what the run held at its end after a full collection, flat arrays not included; all spaces together
 * @param grownBytes by how much {@code heldBytes} exceeds what was held after the warm-up; may be negative
 */
public record MemoryFigures(
        MemorySpace space,
        int iterations,
        int warmup,
        long peakBytes,
        long promptPeakBytes,
        long garbageBytes,
        long driverBytes,
        long heldBytes,
        long grownBytes) {

    /** Iterations after the warm-up. */
    public int measured() {
        return iterations - warmup;
    }
}
