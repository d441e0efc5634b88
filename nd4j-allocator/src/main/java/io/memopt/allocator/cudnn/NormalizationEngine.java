// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Batch normalisation of {@code [batch, channels, height, width]} over all but the channels. All arrays are dense, in c order
 * and of type FLOAT; those for one channel each have {@code channels} elements. Threading: as {@link ConvolutionEngine}.
 */
public interface NormalizationEngine {
    /**
     * What a forward pass in training leaves for the backward pass, one element for each channel.
     *
     * @param inverseDeviation {@code 1 / sqrt(variance + epsilon)} with the variance of the population
     */
    record Statistics(INDArray mean, INDArray inverseDeviation) {}

    /** Normalises by the statistics of {@code x} itself, and writes these. */
    void normalizeTraining(
            INDArray x, INDArray gamma, INDArray beta, double epsilon, INDArray y, Statistics statistics);

    /** Normalises by given statistics. */
    void normalizeInference(
            INDArray x, INDArray gamma, INDArray beta, INDArray mean, INDArray variance, double epsilon, INDArray y);

    /** Gradients with respect to input, gamma and beta; {@code statistics} are those of the forward pass of {@code x}. */
    void normalizeBackward(
            INDArray x,
            INDArray dy,
            INDArray gamma,
            double epsilon,
            INDArray dx,
            INDArray dGamma,
            INDArray dBeta,
            Statistics statistics);

    /**
     * Brings the content of {@code from} to {@code to}, of the same length, in the order of the computations: after those that were
     * asked for before, before those that follow. Does not wait.
     */
    void copy(INDArray from, INDArray to);
}
