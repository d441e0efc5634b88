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

    /** Scratch memory held now, of all streams. */
    long scratchBytes();

    /** Gives scratch memory and library handles back, after the device is done with them. Later calls fail. */
    @Override
    void close();
}
