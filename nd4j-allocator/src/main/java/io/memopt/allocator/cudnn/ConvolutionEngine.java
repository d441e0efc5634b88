// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Convolutions (cross-correlations, as Deeplearning4j has them) on arrays where they lie. All arrays are dense, in c order and
 * of type FLOAT, shaped as {@link ConvolutionShape} says; biases have {@code filters} elements. Results are complete for
 * operations of ND4J on the same thread; the host need not have waited.
 *
 * <p>Threading: safe; calls of different threads run on the streams of those threads.
 */
public interface ConvolutionEngine {
    /**
     * {@code y = x * w + bias}.
     *
     * @return false when there is no algorithm for it; {@code y} is then undefined
     */
    boolean forward(ConvolutionShape shape, INDArray x, INDArray w, @Nullable INDArray bias, INDArray y);

    /**
     * Gradients with respect to input, weights and biases, written to {@code dx}, {@code dw}, {@code db}.
     *
     * @return false when there is no algorithm for it; the results are then undefined
     */
    boolean backward(
            ConvolutionShape shape,
            INDArray x,
            INDArray w,
            INDArray dy,
            INDArray dx,
            INDArray dw,
            @Nullable INDArray db);
}
