// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;

/**
 * One pass of a convolution within a recorded pass of a network.
 *
 * @param birth number of the next workspace array when it was computed
 * @param shape with the examples of the recorded pass
 */
record ScratchCall(int birth, ConvolutionShape shape, ConvolutionPass pass) {}
