// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.Objects;

/**
 * One way to do one pass of one convolution.
 *
 * @param id cuDNN's number, see {@link ConvolutionPass}
 * @param parts number of equal parts that the minibatch is computed in, at least 1
 * @param scratchBytes memory needed beside the arrays
 * @param nanos time for the whole minibatch; where nothing was measured, the rank among the alternatives, from 1
 */
public record ConvolutionAlgorithm(int id, ConvolutionMath math, int parts, long scratchBytes, long nanos) {
    public ConvolutionAlgorithm {
        Objects.requireNonNull(math, "math");
        if (id < 0 || parts < 1 || scratchBytes < 0 || nanos < 0) {
            throw new IllegalArgumentException("id=" + id + " parts=" + parts + " scratchBytes=" + scratchBytes
                    + " nanos=" + nanos + ", expected parts of at least 1, the others of at least 0");
        }
    }
}
