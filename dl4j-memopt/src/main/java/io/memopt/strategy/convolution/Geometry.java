// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.convolution;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.util.ConvolutionUtils;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.convolution.Convolution;

/**
 * Sizes of one convolution of {@code [batch, channels, inHeight, inWidth]}.
 *
 * @param height of the kernel
 * @param width of the kernel
 * @param moves strides, padding and dilation of rows and columns
 */
record Geometry(
        long batch,
        long channels,
        int inHeight,
        int inWidth,
        int height,
        int width,
        int outHeight,
        int outWidth,
        Moves moves) {

    /** How a kernel goes over an input; {@code same}: whether the mode is Same. */
    record Moves(
            int strideHeight,
            int strideWidth,
            int padHeight,
            int padWidth,
            int dilationHeight,
            int dilationWidth,
            boolean same) {

        static Moves of(int[] strides, int[] pad, int[] dilation, ConvolutionMode mode) {
            return new Moves(
                    strides[0], strides[1], pad[0], pad[1], dilation[0], dilation[1], mode == ConvolutionMode.Same);
        }
    }

    /**
     * Of a layer.
     *
     * @param weights {@code [filters, channels, height, width]}
     */
    static Geometry of(
            INDArray input, INDArray weights, int[] strides, int[] pad, int[] dilation, ConvolutionMode mode) {
        int[] kernel = {(int) weights.size(2), (int) weights.size(3)};
        int[] out = ConvolutionUtils.getOutputSize(
                input, kernel, strides, mode == ConvolutionMode.Same ? null : pad, mode, dilation, CNN2DFormat.NCHW);
        return new Geometry(
                input.size(0),
                input.size(1),
                (int) input.size(2),
                (int) input.size(3),
                kernel[0],
                kernel[1],
                out[0],
                out[1],
                Moves.of(strides, pad, dilation, mode));
    }

    /** Places that the kernel is laid on, in one example. */
    long perExample() {
        return (long) outHeight * outWidth;
    }

    /** Places that the kernel is laid on, in all examples. */
    long positions() {
        return batch * perExample();
    }

    /** Elements of the kernel. */
    long taps() {
        return channels * height * width;
    }

    /** Unfolds {@code input} into {@code [batch, channels, height, width, outHeight, outWidth]}. */
    void unfold(INDArray input, INDArray columns) {
        Convolution.im2col(
                input,
                height,
                width,
                moves.strideHeight,
                moves.strideWidth,
                moves.padHeight,
                moves.padWidth,
                moves.dilationHeight,
                moves.dilationWidth,
                moves.same,
                columns);
    }

    /** Sums {@code columns}, as {@link #unfold} makes them, into {@code [batch, channels, inHeight, inWidth]}. */
    void fold(INDArray columns, INDArray input) {
        Convolution.col2im(
                columns,
                input,
                moves.strideHeight,
                moves.strideWidth,
                moves.padHeight,
                moves.padWidth,
                inHeight,
                inWidth,
                moves.dilationHeight,
                moves.dilationWidth);
    }
}
