// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ConvolutionShape;
import java.util.Optional;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Deeplearning4j's convolution as one with the same padding on opposite sides. Its mode {@code Same} pads bottom and right by
 * one more than top and left when the sum is odd; the input is then first extended by that one row or column of zeros.
 *
 * <pre>
 *   height 4, kernel 3, stride 2:   x x x x 0      one row of zeros at the bottom, none at the top,
 *                                   |---|          becomes height 5 with padding 0
 *                                       |---|
 * </pre>
 *
 * @param shape of the extended input
 * @param moreHeight rows added at the bottom, 0 or 1
 * @param moreWidth columns added at the right, 0 or 1
 */
record ConvolutionGeometry(ConvolutionShape shape, int moreHeight, int moreWidth) {

    /**
     * The geometry that Deeplearning4j's arguments stand for.
     *
     * @param input {@code [batch, channels, height, width]}
     * @param weights {@code [filters, channels, kernelHeight, kernelWidth]}
     * @param pad top and left
     * @return empty when the library cannot do it that way
     */
    static Optional<ConvolutionGeometry> of(
            long[] input, long[] weights, int[] strides, int[] pad, int[] dilation, ConvolutionMode mode) {
        boolean same = mode == ConvolutionMode.Same;
        boolean known = same || mode == ConvolutionMode.Strict || mode == ConvolutionMode.Truncate;
        if (!known || isHuge(input, weights)) {
            return Optional.empty();
        }
        int moreHeight = same ? missing(input[2], weights[2], strides[0], pad[0], dilation[0]) : 0;
        int moreWidth = same ? missing(input[3], weights[3], strides[1], pad[1], dilation[1]) : 0;
        try {
            ConvolutionShape shape = new ConvolutionShape(
                    (int) input[0],
                    (int) input[1],
                    (int) input[2] + moreHeight,
                    (int) input[3] + moreWidth,
                    (int) weights[0],
                    (int) weights[2],
                    (int) weights[3],
                    strides[0],
                    strides[1],
                    pad[0],
                    pad[1],
                    dilation[0],
                    dilation[1],
                    1);
            return weights[1] == input[1] && (!same || isSame(shape, input, strides))
                    ? Optional.of(new ConvolutionGeometry(shape, moreHeight, moreWidth))
                    : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    boolean extended() {
        return moreHeight > 0 || moreWidth > 0;
    }

    long[] inputShape() {
        return new long[] {shape.batch(), shape.channels(), shape.height(), shape.width()};
    }

    long[] outputShape() {
        return new long[] {shape.batch(), shape.filters(), shape.outHeight(), shape.outWidth()};
    }

    /** {@code x} itself, or a copy with zeros at the bottom and at the right, in the current workspace. */
    INDArray extend(INDArray x) {
        if (!extended()) {
            return x;
        }
        INDArray extended = Nd4j.create(x.dataType(), inputShape());
        inner(extended).assign(x);
        return extended;
    }

    /** The part of an extended array that is not padding, as a view. */
    INDArray inner(INDArray extended) {
        return extended.get(
                NDArrayIndex.all(),
                NDArrayIndex.all(),
                NDArrayIndex.interval(0, shape.height() - moreHeight),
                NDArrayIndex.interval(0, shape.width() - moreWidth));
    }

    private static int missing(long size, long kernel, int stride, int pad, int dilation) {
        long out = ceiling(size, stride);
        long total = (out - 1) * stride + (kernel - 1) * dilation + 1 - size;
        return (int) Math.max(0, total - 2L * pad);
    }

    private static boolean isSame(ConvolutionShape shape, long[] input, int[] strides) {
        return shape.outHeight() == ceiling(input[2], strides[0]) && shape.outWidth() == ceiling(input[3], strides[1]);
    }

    private static long ceiling(long size, int stride) {
        return (size + stride - 1) / stride;
    }

    /** cuDNN counts in 32 bits, elements of an array included. */
    private static boolean isHuge(long[] input, long[] weights) {
        return input[0] * input[1] * (input[2] + 1) * (input[3] + 1) > Integer.MAX_VALUE
                || input[0] * weights[0] * (input[2] + 1) * (input[3] + 1) > Integer.MAX_VALUE;
    }
}
