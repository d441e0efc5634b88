// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ConvolutionMath;
import io.memopt.allocator.cudnn.ConvolutionPass;

/**
 * How one pass of one layer is computed.
 *
 * @param shape see {@link io.memopt.allocator.cudnn.ConvolutionShape#key()}
 * @param algorithm cuDNN's name
 * @param parts number of parts that the minibatch is computed in
 * @param nanos measured time of the pass; a rank where nothing was measured
 */
public record ConvolutionRow(
        String layer,
        String shape,
        ConvolutionPass pass,
        String algorithm,
        ConvolutionMath math,
        int parts,
        long scratchBytes,
        long nanos) {}
