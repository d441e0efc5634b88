// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.List;
import java.util.function.LongConsumer;

/**
 * Bounds of an analysis.
 *
 * @param maxHolders lives kept for each peak
 * @param maxChanges spills and resizes kept one by one; the first ones win
 * @param maxGrowthSamples samples of each owner, 8..1024; slopes cost O(samples squared)
 * @param fragmentationSamples moments at which holes are counted
 * @param maxProfileSteps allocations kept of a profiled iteration
 * @param profiles places in {@link TraceAnalysis#iterations()} to profile, -1 for the last; see {@link IterationProfile}
 * @param progress told now and then how many events were read, over all passes
 */
public record AnalysisOptions(
        int maxHolders,
        int maxChanges,
        int maxGrowthSamples,
        int fragmentationSamples,
        int maxProfileSteps,
        List<Integer> profiles,
        LongConsumer progress) {

    public static final AnalysisOptions DEFAULTS =
            new AnalysisOptions(1000, 1000, 200, 128, 200_000, List.of(-1), events -> {});

    public AnalysisOptions {
        profiles = List.copyOf(profiles);
        if (maxGrowthSamples < 8 || maxGrowthSamples > 1024) {
            throw new IllegalArgumentException("maxGrowthSamples=" + maxGrowthSamples + ", expected 8..1024");
        }
        if (maxHolders < 0 || maxChanges < 0 || fragmentationSamples < 0 || maxProfileSteps < 0) {
            throw new IllegalArgumentException("maxHolders=" + maxHolders + ", maxChanges=" + maxChanges
                    + ", fragmentationSamples=" + fragmentationSamples + ", maxProfileSteps=" + maxProfileSteps
                    + ", expected no negative number");
        }
    }

    /** The same bounds with another listener. */
    public AnalysisOptions withProgress(LongConsumer newProgress) {
        return new AnalysisOptions(
                maxHolders, maxChanges, maxGrowthSamples, fragmentationSamples, maxProfileSteps, profiles, newProgress);
    }

    /** The same bounds with other iterations profiled. */
    public AnalysisOptions withProfiles(List<Integer> newProfiles) {
        return new AnalysisOptions(
                maxHolders, maxChanges, maxGrowthSamples, fragmentationSamples, maxProfileSteps, newProfiles, progress);
    }
}
