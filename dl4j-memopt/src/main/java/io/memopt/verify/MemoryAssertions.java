// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import org.deeplearning4j.nn.api.Model;

/**
 * Entry of memory tests, for any test framework:
 *
 * <pre>{@code
 * assertThatMemory(net)
 *         .whileFitting(iterator, 20)
 *         .peakBelow("200 MiB")
 *         .hasNoGrowthOver("1 KiB")
 *         .makesNoDriverAllocationsAfterWarmup();
 * }</pre>
 */
public final class MemoryAssertions {
    private MemoryAssertions() {}

    /**
     * Begins a test of {@code network}, which is trained or otherwise run by what is called next.
     *
     * @param network an initialised MultiLayerNetwork or ComputationGraph
     * @throws IllegalArgumentException if it is neither, or not initialised
     */
    public static MemoryTrial assertThatMemory(Model network) {
        return new MemoryTrial(Models.check(network));
    }
}
