// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.Optional;

/** Convolution and batch normalisation by one library. */
public interface LayerEngine extends ConvolutionEngine, NormalizationEngine, AutoCloseable {
    /** Library and device, e.g. {@code cuDNN 91900 on NVIDIA H200}. */
    String description();

    /** What is known of a pass; empty before it was first computed. */
    Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass);

    /** How a pass is computed now; empty before it was first computed, and where it belongs to the built-in path. */
    Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass);

    /**
     * From now on passes take ways with at most {@code bytes} of scratch memory, and at most what the engine was opened with; a pass that
     * has none takes the one with the least. Scratch memory held is given back. {@link Long#MAX_VALUE} ends it. For all networks: what
     * they had chosen before may be another way, with other bits.
     *
     * @param aloneBytes most scratch memory for each stream that {@link ScratchHooks#spare} does not lend; where a pass finds no more, it
     *     takes a way within that, this once
     */
    void limitScratch(long bytes, long aloneBytes);

    /**
     * How a pass would be computed under a {@linkplain #limitScratch limit} of {@code bytes}, of the ways that are known: those within the
     * limit under which it was computed first, or the largest since; empty before.
     */
    Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes);

    /** Scratch memory held now, of all streams. */
    long scratchBytes();

    /** Gives scratch memory and library handles back, after the device is done with them. Later calls fail. */
    @Override
    void close();
}
