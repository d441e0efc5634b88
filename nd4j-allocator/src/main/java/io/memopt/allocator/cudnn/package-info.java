// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Convolution and batch normalisation through cuDNN, and which of its algorithms to use. {@link
 * io.memopt.allocator.cudnn.LayerEngine} is what layers call; {@link io.memopt.allocator.cudnn.CudnnEngine} implements it on
 * ND4J's device memory and streams. The choice of algorithms (tables, budget, tuner, scratch) knows neither CUDA nor ND4J.
 *
 * <p>Classes whose names begin with {@code Cudnn} need nd4j-cuda and the JavaCPP presets of CUDA; they are loaded by {@link
 * io.memopt.allocator.cudnn.LayerEngines} only. Imports ND4J and the presets, no other package of ours.
 */
@NullMarked
package io.memopt.allocator.cudnn;

import org.jspecify.annotations.NullMarked;
