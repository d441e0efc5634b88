// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Convolutions and batch normalisations of a network through cuDNN instead of Deeplearning4j's own im2col and gemm. {@link
 * io.memopt.strategy.cudnn.CudnnLayers} puts helpers into layers and takes them out; {@link
 * io.memopt.strategy.cudnn.Convolutions} says how they choose. What a helper does not support goes to the built-in path.
 *
 * <p>Exactness {@code REORDERED}: the same sums in another order; with TF32 {@code LOSSY}.
 */
@NullMarked
package io.memopt.strategy.cudnn;

import org.jspecify.annotations.NullMarked;
