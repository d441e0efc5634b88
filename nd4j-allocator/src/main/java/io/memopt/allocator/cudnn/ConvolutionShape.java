// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/**
 * A two-dimensional convolution with the same padding on opposite sides. Input {@code [batch, channels, height, width]},
 * weights {@code [filters, channels / groups, kernelHeight, kernelWidth]}, output {@code [batch, filters, outHeight, outWidth]}.
 * All sizes are at least 1, paddings at least 0; channels and filters are multiples of groups.
 */
public record ConvolutionShape(
        int batch,
        int channels,
        int height,
        int width,
        int filters,
        int kernelHeight,
        int kernelWidth,
        int strideHeight,
        int strideWidth,
        int padHeight,
        int padWidth,
        int dilationHeight,
        int dilationWidth,
        int groups) {

    public ConvolutionShape {
        int least = Math.min(
                Math.min(Math.min(batch, channels), Math.min(height, width)),
                Math.min(Math.min(filters, groups), Math.min(kernelHeight, kernelWidth)));
        int steps = Math.min(Math.min(strideHeight, strideWidth), Math.min(dilationHeight, dilationWidth));
        boolean valid = least >= 1 && steps >= 1 && padHeight >= 0 && padWidth >= 0;
        if (!valid || channels % groups != 0 || filters % groups != 0) {
            throw new IllegalArgumentException(
                    "batch=" + batch + " channels=" + channels + " height=" + height + " width="
                            + width + " filters=" + filters + " kernel=" + kernelHeight + "x" + kernelWidth + " stride="
                            + strideHeight + "x" + strideWidth + " pad=" + padHeight + "x" + padWidth + " dilation="
                            + dilationHeight + "x" + dilationWidth + " groups=" + groups
                            + ", expected sizes of at least 1, paddings of at least 0, channels and filters divisible by groups");
        }
        if (outSize(height, kernelHeight, strideHeight, padHeight, dilationHeight) < 1
                || outSize(width, kernelWidth, strideWidth, padWidth, dilationWidth) < 1) {
            throw new IllegalArgumentException("kernel " + kernelHeight + "x" + kernelWidth + " with dilation "
                    + dilationHeight + "x" + dilationWidth + " does not fit into " + height + "x" + width
                    + " with padding " + padHeight + "x" + padWidth);
        }
    }

    public int outHeight() {
        return outSize(height, kernelHeight, strideHeight, padHeight, dilationHeight);
    }

    public int outWidth() {
        return outSize(width, kernelWidth, strideWidth, padWidth, dilationWidth);
    }

    /** Elements of one item of the input. */
    public long inputItem() {
        return (long) channels * height * width;
    }

    /** Elements of one item of the output. */
    public long outputItem() {
        return (long) filters * outHeight() * outWidth();
    }

    /** Elements of the weights. */
    public long weights() {
        return (long) filters * (channels / groups) * kernelHeight * kernelWidth;
    }

    /** Bytes of input, weights and output in FLOAT. */
    long bytes() {
        return Float.BYTES * (batch * (inputItem() + outputItem()) + weights());
    }

    /** The same convolution over {@code items} items. */
    public ConvolutionShape withBatch(int items) {
        return new ConvolutionShape(
                items,
                channels,
                height,
                width,
                filters,
                kernelHeight,
                kernelWidth,
                strideHeight,
                strideWidth,
                padHeight,
                padWidth,
                dilationHeight,
                dilationWidth,
                groups);
    }

    /** Different for different convolutions, e.g. {@code n32c64h56w56k64r3s3u1v1p1q1e1f1g1}. */
    public String key() {
        return "n" + batch + "c" + channels + "h" + height + "w" + width + "k" + filters + "r" + kernelHeight + "s"
                + kernelWidth + "u" + strideHeight + "v" + strideWidth + "p" + padHeight + "q" + padWidth + "e"
                + dilationHeight + "f" + dilationWidth + "g" + groups;
    }

    private static int outSize(int size, int kernel, int stride, int pad, int dilation) {
        int covered = size + 2 * pad - (kernel - 1) * dilation - 1;
        return covered < 0 ? 0 : covered / stride + 1;
    }
}
