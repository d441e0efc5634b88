// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The ways to do one pass of one convolution, fastest first. Ways that another beats in both time and scratch memory stay in:
 * they are what is left when that one fails.
 *
 * @param searchedBytes ways that need more scratch memory were not looked at
 * @param measured whether times were measured; otherwise they are ranks
 */
public record AlgorithmTable(long searchedBytes, boolean measured, List<ConvolutionAlgorithm> algorithms) {
    private static final long LAUNCH_NANOS = 20_000;

    private static final Comparator<ConvolutionAlgorithm> ORDER = Comparator.comparingLong(ConvolutionAlgorithm::nanos)
            .thenComparingLong(ConvolutionAlgorithm::scratchBytes)
            .thenComparingInt(ConvolutionAlgorithm::parts)
            .thenComparing(ConvolutionAlgorithm::math)
            .thenComparingInt(ConvolutionAlgorithm::id);

    public AlgorithmTable {
        if (searchedBytes < 0) {
            throw new IllegalArgumentException("searchedBytes=" + searchedBytes + ", expected at least 0");
        }
        algorithms = algorithms.stream().sorted(ORDER).toList();
    }

    /** The fastest way within {@code budgetBytes} of scratch memory; among equally fast ones that with the least. */
    public Optional<ConvolutionAlgorithm> fastestWithin(long budgetBytes) {
        return algorithms.stream()
                .filter(algorithm -> algorithm.scratchBytes() <= budgetBytes)
                .findFirst();
    }

    /**
     * The way with the least scratch memory of those within {@code budgetBytes} that are hardly slower than the fastest of them: 3 %
     * slower, by which times differ from one measurement to the next, and 20 us, about a launch, but at most a tenth. Ranks are no times.
     */
    public Optional<ConvolutionAlgorithm> thriftiestWithin(long budgetBytes) {
        return fastestWithin(budgetBytes)
                .flatMap(fastest -> algorithms.stream()
                        .filter(way -> way.nanos() <= fastest.nanos() + slack(fastest.nanos()))
                        .min(Comparator.comparingLong(ConvolutionAlgorithm::scratchBytes)));
    }

    private static long slack(long nanos) {
        return Math.min(nanos / 10, nanos * 3 / 100 + LAUNCH_NANOS);
    }

    /** The way with the least scratch memory; among those the fastest. */
    public Optional<ConvolutionAlgorithm> smallest() {
        return algorithms.stream().min(Comparator.comparingLong(ConvolutionAlgorithm::scratchBytes));
    }
}
