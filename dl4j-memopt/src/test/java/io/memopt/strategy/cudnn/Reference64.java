// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ConvolutionShape;

/**
 * Convolution and batch normalisation by their definitions, in double precision: slow and right. Arrays are flat, in c order,
 * shaped as {@link ConvolutionShape} says.
 */
public final class Reference64 {
    private Reference64() {}

    /** Multiplications of the sum that a convolution is: the n-th is of input {@code x + n * stride}, weight w and output {@code y + n}. */
    private interface Terms {
        void add(int x, int stride, int w, int y, int count);
    }

    public static double[] forward(ConvolutionShape s, double[] x, double[] w, double[] bias) {
        double[] y = new double[(int) (s.batch() * s.outputItem())];
        int area = s.outHeight() * s.outWidth();
        for (int i = 0; i < y.length; i++) {
            y[i] = bias[i / area % s.filters()];
        }
        terms(s, (xi, stride, wi, yi, count) -> {
            for (int n = 0; n < count; n++) {
                y[yi + n] += x[xi + n * stride] * w[wi];
            }
        });
        return y;
    }

    public static double[] inputGradient(ConvolutionShape s, double[] w, double[] dy) {
        double[] dx = new double[(int) (s.batch() * s.inputItem())];
        terms(s, (xi, stride, wi, yi, count) -> {
            for (int n = 0; n < count; n++) {
                dx[xi + n * stride] += dy[yi + n] * w[wi];
            }
        });
        return dx;
    }

    public static double[] weightGradient(ConvolutionShape s, double[] x, double[] dy) {
        double[] dw = new double[s.filters() * (s.channels() / s.groups()) * s.kernelHeight() * s.kernelWidth()];
        terms(s, (xi, stride, wi, yi, count) -> {
            double sum = dw[wi];
            for (int n = 0; n < count; n++) {
                sum += x[xi + n * stride] * dy[yi + n];
            }
            dw[wi] = sum;
        });
        return dw;
    }

    public static double[] biasGradient(ConvolutionShape s, double[] dy) {
        double[] db = new double[s.filters()];
        int area = s.outHeight() * s.outWidth();
        for (int i = 0; i < dy.length; i++) {
            db[i / area % s.filters()] += dy[i];
        }
        return db;
    }

    private static void terms(ConvolutionShape s, Terms terms) {
        int perGroup = s.channels() / s.groups();
        int filtersPerGroup = s.filters() / s.groups();
        for (int n = 0; n < s.batch(); n++) {
            for (int k = 0; k < s.filters(); k++) {
                int firstChannel = k / filtersPerGroup * perGroup;
                for (int c = 0; c < perGroup; c++) {
                    plane(s, n, k, firstChannel + c, (k * perGroup + c) * s.kernelHeight() * s.kernelWidth(), terms);
                }
            }
        }
    }

    private static void plane(ConvolutionShape s, int n, int k, int channel, int firstWeight, Terms terms) {
        int outHeight = s.outHeight();
        int outWidth = s.outWidth();
        for (int oh = 0; oh < outHeight; oh++) {
            for (int r = 0; r < s.kernelHeight(); r++) {
                int h = oh * s.strideHeight() - s.padHeight() + r * s.dilationHeight();
                if (h < 0 || h >= s.height()) {
                    continue;
                }
                int row = ((n * s.channels() + channel) * s.height() + h) * s.width();
                int outRow = ((n * s.filters() + k) * outHeight + oh) * outWidth;
                row(s, row, firstWeight + r * s.kernelWidth(), outRow, outWidth, terms);
            }
        }
    }

    private static void row(ConvolutionShape s, int x, int w, int y, int outWidth, Terms terms) {
        int stride = s.strideWidth();
        for (int q = 0; q < s.kernelWidth(); q++) {
            int first = q * s.dilationWidth() - s.padWidth();
            int from = Math.max(0, -Math.floorDiv(first, stride));
            int to = Math.min(outWidth, Math.floorDiv(s.width() - 1 - first, stride) + 1);
            if (from < to) {
                terms.add(x + first + from * stride, stride, w + q, y + from, to - from);
            }
        }
    }

    /** Mean of each channel of {@code [items, channels, area]}. */
    public static double[] mean(double[] x, int channels, int area) {
        double[] mean = new double[channels];
        for (int i = 0; i < x.length; i++) {
            mean[i / area % channels] += x[i] * channels / x.length;
        }
        return mean;
    }

    /** Variance of the population of each channel. */
    public static double[] variance(double[] x, double[] mean, int area) {
        double[] variance = new double[mean.length];
        for (int i = 0; i < x.length; i++) {
            int c = i / area % mean.length;
            variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) * mean.length / x.length;
        }
        return variance;
    }

    public static double[] normalize(
            double[] x, double[] mean, double[] variance, double[] gamma, double[] beta, double epsilon, int area) {
        double[] y = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            int c = i / area % mean.length;
            y[i] = (x[i] - mean[c]) / Math.sqrt(variance[c] + epsilon) * gamma[c] + beta[c];
        }
        return y;
    }

    /** Gradients with respect to input, gamma and beta, in this order; mean and variance depend on the input. */
    public static double[][] normalizeBackward(
            double[] x, double[] dy, double[] mean, double[] variance, double[] gamma, double epsilon, int area) {
        int channels = mean.length;
        double count = (double) x.length / channels;
        double[] dGamma = new double[channels];
        double[] dBeta = new double[channels];
        for (int i = 0; i < x.length; i++) {
            int c = i / area % channels;
            dGamma[c] += dy[i] * (x[i] - mean[c]) / Math.sqrt(variance[c] + epsilon);
            dBeta[c] += dy[i];
        }
        double[] dx = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            int c = i / area % channels;
            double deviation = Math.sqrt(variance[c] + epsilon);
            double normalized = (x[i] - mean[c]) / deviation;
            dx[i] = gamma[c] / deviation * (dy[i] - dBeta[c] / count - normalized * dGamma[c] / count);
        }
        return new double[][] {dx, dGamma, dBeta};
    }
}
