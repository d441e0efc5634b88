// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.CudnnOptions;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

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
 * @param graphs plans of cuDNN's graphs are made once for each pass, where its older functions make one in each call; needs JavaCPP
 *     presets of cuDNN 9 on the class path, without which, and for arrays that do not begin at multiples of 16 bytes, the older
 *     functions are taken
 * @param tf32 allows tensor cores that round factors to 10 bits of mantissa; exactness {@code LOSSY}
 * @param scratchBytes most scratch memory for each stream; a pass that fits nowhere within may take four times as much before
 *     it goes to the built-in path
 * @param scratchShare a pass takes at most 64 MiB and so many times the bytes of its input, weights and output; 0 for no such bound
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
        boolean graphs,
        boolean tf32,
        long scratchBytes,
        int scratchShare,
        boolean measured,
        int maxParts,
        Optional<Path> cache) {
    /** 256 MiB: less than one array of activations of VGG16's first layers at batch 32. */
    public static final long DEFAULT_SCRATCH_BYTES = 256L << 20;

    /** More gains hardly any time, and is a large part of what a network of small arrays has. */
    private static final int DEFAULT_SHARE = 1;

    private static final int DEFAULT_PARTS = 16;

    /** Deeplearning4j's own way. */
    public static final Convolutions BUILT_IN = of(false);

    /** cuDNN, deterministic, 32 bit products, measured, at most {@link #DEFAULT_SCRATCH_BYTES} of scratch memory. */
    public static final Convolutions CUDNN = of(true);

    public Convolutions {
        Objects.requireNonNull(cache, "cache");
        new CudnnOptions(deterministic, graphs, tf32, scratchBytes, scratchShare, measured, maxParts);
    }

    private static Convolutions of(boolean cudnn) {
        return new Convolutions(
                cudnn,
                true,
                true,
                true,
                true,
                true,
                false,
                DEFAULT_SCRATCH_BYTES,
                DEFAULT_SHARE,
                true,
                DEFAULT_PARTS,
                Optional.empty());
    }

    /** The same values, to be changed. */
    private static final class Copy {
        private final boolean cudnn;
        private boolean normalization;
        private boolean joinStatistics;
        private boolean reuseForward;
        private boolean deterministic;
        private boolean graphs;
        private boolean tf32;
        private long scratchBytes;
        private int scratchShare;
        private boolean measured;
        private int maxParts;
        private Optional<Path> cache;

        private Copy(Convolutions from) {
            cudnn = from.cudnn;
            normalization = from.normalization;
            joinStatistics = from.joinStatistics;
            reuseForward = from.reuseForward;
            deterministic = from.deterministic;
            graphs = from.graphs;
            tf32 = from.tf32;
            scratchBytes = from.scratchBytes;
            scratchShare = from.scratchShare;
            measured = from.measured;
            maxParts = from.maxParts;
            cache = from.cache;
        }
    }

    private Convolutions with(Consumer<Copy> change) {
        Copy copy = new Copy(this);
        change.accept(copy);
        return new Convolutions(
                copy.cudnn,
                copy.normalization,
                copy.joinStatistics,
                copy.reuseForward,
                copy.deterministic,
                copy.graphs,
                copy.tf32,
                copy.scratchBytes,
                copy.scratchShare,
                copy.measured,
                copy.maxParts,
                copy.cache);
    }

    public Convolutions withNormalization(boolean value) {
        return with(copy -> copy.normalization = value);
    }

    public Convolutions withJoinStatistics(boolean value) {
        return with(copy -> copy.joinStatistics = value);
    }

    public Convolutions withReuseForward(boolean value) {
        return with(copy -> copy.reuseForward = value);
    }

    public Convolutions withDeterministic(boolean value) {
        return with(copy -> copy.deterministic = value);
    }

    public Convolutions withGraphs(boolean value) {
        return with(copy -> copy.graphs = value);
    }

    public Convolutions withTf32(boolean value) {
        return with(copy -> copy.tf32 = value);
    }

    /**
     * The same with another amount of scratch memory, which every pass may take, however small its arrays.
     *
     * @throws IllegalArgumentException if {@code value} is negative
     */
    public Convolutions withScratchBytes(long value) {
        return with(copy -> {
            copy.scratchBytes = value;
            copy.scratchShare = 0;
        });
    }

    public Convolutions withMeasured(boolean value) {
        return with(copy -> copy.measured = value);
    }

    /**
     * The same with another number of parts.
     *
     * @throws IllegalArgumentException if {@code value} is out of range
     */
    public Convolutions withMaxParts(int value) {
        return with(copy -> copy.maxParts = value);
    }

    public Convolutions withCache(Path file) {
        return with(copy -> copy.cache = Optional.of(file));
    }

    /** The same without a file that keeps what was measured. */
    Convolutions withoutCache() {
        return with(copy -> copy.cache = Optional.empty());
    }

    CudnnOptions options() {
        return new CudnnOptions(deterministic, graphs, tf32, scratchBytes, scratchShare, measured, maxParts);
    }
}
