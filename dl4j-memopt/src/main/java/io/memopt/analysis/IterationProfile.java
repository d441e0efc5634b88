// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.List;

/**
 * What one iteration allocated, in order.
 *
 * @param index place in {@link TraceAnalysis#iterations()}
 * @param steps allocations by the iteration's thread; at most {@link AnalysisOptions#maxProfileSteps()}
 * @param truncated true when there were more
 */
public record IterationProfile(int index, List<AllocationStep> steps, boolean truncated) {
    public IterationProfile {
        steps = List.copyOf(steps);
    }
}
