// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.CudnnOptions;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * How convolutions and batch normalisations are computed. Start from {@link #BUILT_IN} or {@link #CUDNN}; the {@code with}
 * methods give other values.
 *
 * @param cudnn false leaves all to Deeplearning4j; the other settings then mean nothing
 * @param normalization also batch normalisation, which then detaches no arrays
 * @param joinStatistics the running statistics of all batch normalisations of a network are brought up to date together, at the end
 *     of the backward pass: the same operations with the same bits, once for all layers and not some twenty times for each
 * @param reuseForward the backward pass takes the forward pass's result where Deeplearning4j would compute it again and the
 *     result is provably the same, bit for bit; only with workspaces
 * @param deterministic only algorithms that repeat bit for bit; two runs are equal if they also choose the same, which takes a
 *     cache, or ranks instead of measured times
 * @param tf32 allows tensor cores that round factors to 10 bits of mantissa; exactness {@code LOSSY}
 * @param scratchBytes most scratch memory for each stream; a pass that fits nowhere within may take four times as much before
 *     it goes to the built-in path
 * @param measured measures algorithms at their first use, which takes some runs of each; otherwise cuDNN's heuristic ranks
 * @param maxParts most parts that a minibatch may be computed in to save scratch memory, 1 to 64
 * @param cache file that keeps what was measured, if any
 */
public record Convolutions(
        boolean cudnn,
        boolean normalization,
        boolean joinStatistics,
        boolean reuseForward,
        boolean deterministic,
        boolean tf32,
        long scratchBytes,
        boolean measured,
        int maxParts,
        Optional<Path> cache) {
    /** 256 MiB: less than one array of activations of VGG16's first layers at batch 32. */
    public static final long DEFAULT_SCRATCH_BYTES = 256L << 20;

    private static final int DEFAULT_PARTS = 4;

    /** Deeplearning4j's own way. */
    public static final Convolutions BUILT_IN = of(false);

    /** cuDNN, deterministic, 32 bit products, measured, at most {@link #DEFAULT_SCRATCH_BYTES} of scratch memory. */
    public static final Convolutions CUDNN = of(true);

    public Convolutions {
        Objects.requireNonNull(cache, "cache");
        new CudnnOptions(deterministic, tf32, scratchBytes, measured, maxParts);
    }

    private static Convolutions of(boolean cudnn) {
        return new Convolutions(
                cudnn, true, true, true, true, false, DEFAULT_SCRATCH_BYTES, true, DEFAULT_PARTS, Optional.empty());
    }

    public Convolutions withNormalization(boolean value) {
        return new Convolutions(
                cudnn,
                value,
                joinStatistics,
                reuseForward,
                deterministic,
                tf32,
                scratchBytes,
                measured,
                maxParts,
                cache);
    }

    public Convolutions withJoinStatistics(boolean value) {
        return new Convolutions(
                cudnn,
                normalization,
                value,
                reuseForward,
                deterministic,
                tf32,
                scratchBytes,
                measured,
                maxParts,
                cache);
    }

    public Convolutions withReuseForward(boolean value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                value,
                deterministic,
                tf32,
                scratchBytes,
                measured,
                maxParts,
                cache);
    }

    public Convolutions withDeterministic(boolean value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                value,
                tf32,
                scratchBytes,
                measured,
                maxParts,
                cache);
    }

    public Convolutions withTf32(boolean value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                deterministic,
                value,
                scratchBytes,
                measured,
                maxParts,
                cache);
    }

    /**
     * The same with another amount of scratch memory.
     *
     * @throws IllegalArgumentException if {@code value} is negative
     */
    public Convolutions withScratchBytes(long value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                deterministic,
                tf32,
                value,
                measured,
                maxParts,
                cache);
    }

    public Convolutions withMeasured(boolean value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                deterministic,
                tf32,
                scratchBytes,
                value,
                maxParts,
                cache);
    }

    /**
     * The same with another number of parts.
     *
     * @throws IllegalArgumentException if {@code value} is out of range
     */
    public Convolutions withMaxParts(int value) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                deterministic,
                tf32,
                scratchBytes,
                measured,
                value,
                cache);
    }

    public Convolutions withCache(Path file) {
        return new Convolutions(
                cudnn,
                normalization,
                joinStatistics,
                reuseForward,
                deterministic,
                tf32,
                scratchBytes,
                measured,
                maxParts,
                Optional.of(file));
    }

    CudnnOptions options() {
        return new CudnnOptions(deterministic, tf32, scratchBytes, measured, maxParts);
    }
}
