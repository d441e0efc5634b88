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

    /** One multiplication of the sum that a convolution is, by the indices of its factors and of its result. */
    private interface Term {
        void add(int x, int w, int y);
    }

    public static double[] forward(ConvolutionShape s, double[] x, double[] w, double[] bias) {
        double[] y = new double[(int) (s.batch() * s.outputItem())];
        int area = s.outHeight() * s.outWidth();
        for (int i = 0; i < y.length; i++) {
            y[i] = bias[i / area % s.filters()];
        }
        terms(s, (xi, wi, yi) -> y[yi] += x[xi] * w[wi]);
        return y;
    }

    public static double[] inputGradient(ConvolutionShape s, double[] w, double[] dy) {
        double[] dx = new double[(int) (s.batch() * s.inputItem())];
        terms(s, (xi, wi, yi) -> dx[xi] += dy[yi] * w[wi]);
        return dx;
    }

    public static double[] weightGradient(ConvolutionShape s, double[] x, double[] dy) {
        double[] dw = new double[s.filters() * (s.channels() / s.groups()) * s.kernelHeight() * s.kernelWidth()];
        terms(s, (xi, wi, yi) -> dw[wi] += x[xi] * dy[yi]);
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

    private static void terms(ConvolutionShape s, Term term) {
        int perGroup = s.channels() / s.groups();
        int filtersPerGroup = s.filters() / s.groups();
        for (int n = 0; n < s.batch(); n++) {
            for (int k = 0; k < s.filters(); k++) {
                int firstChannel = k / filtersPerGroup * perGroup;
                for (int c = 0; c < perGroup; c++) {
                    plane(s, n, k, firstChannel + c, (k * perGroup + c) * s.kernelHeight() * s.kernelWidth(), term);
                }
            }
        }
    }

    private static void plane(ConvolutionShape s, int n, int k, int channel, int firstWeight, Term term) {
        int outWidth = s.outWidth();
        for (int oh = 0; oh < s.outHeight(); oh++) {
            for (int r = 0; r < s.kernelHeight(); r++) {
                int h = oh * s.strideHeight() - s.padHeight() + r * s.dilationHeight();
                if (h < 0 || h >= s.height()) {
                    continue;
                }
                int row = ((n * s.channels() + channel) * s.height() + h) * s.width();
                int outRow = ((n * s.filters() + k) * s.outHeight() + oh) * outWidth;
                for (int ow = 0; ow < outWidth; ow++) {
                    for (int q = 0; q < s.kernelWidth(); q++) {
                        int v = ow * s.strideWidth() - s.padWidth() + q * s.dilationWidth();
                        if (v >= 0 && v < s.width()) {
                            term.add(row + v, firstWeight + r * s.kernelWidth() + q, outRow + ow);
                        }
                    }
                }
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
