// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/** Precision of the products of a FLOAT convolution. */
public enum ConvolutionMath {
    /** 32 bit fused multiply-add. */
    FMA,
    /** Tensor cores that round factors to 10 bits of mantissa: other numbers, by about 1e-3 of the largest. */
    TF32
}
