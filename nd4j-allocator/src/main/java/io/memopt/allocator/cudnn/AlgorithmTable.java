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

    /** The way with the least scratch memory; among those the fastest. */
    public Optional<ConvolutionAlgorithm> smallest() {
        return algorithms.stream().min(Comparator.comparingLong(ConvolutionAlgorithm::scratchBytes));
    }
}
