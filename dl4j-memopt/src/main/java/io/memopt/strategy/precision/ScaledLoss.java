// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;

/**
 * A loss that is computed in FLOAT from activations of any type, with gradients multiplied by a scale; the score is not scaled.
 * Arrays are as for the loss itself, gradients have the type of the activations.
 *
 * <p>Threading: as the loss.
 */
final class ScaledLoss implements ILossFunction {
    private static final long serialVersionUID = 1;

    private final ILossFunction loss;
    private final transient LossScale scale;

    ScaledLoss(ILossFunction loss, LossScale scale) {
        this.loss = loss;
        this.scale = scale;
    }

    private static INDArray wide(INDArray array) {
        return array.castTo(DataType.FLOAT);
    }

    private static @Nullable INDArray wideMask(@Nullable INDArray mask) {
        return mask == null ? null : wide(mask);
    }

    @Override
    public double computeScore(
            INDArray labels, INDArray output, IActivation activation, @Nullable INDArray mask, boolean average) {
        return loss.computeScore(wide(labels), wide(output), activation, wideMask(mask), average);
    }

    @Override
    public INDArray computeScoreArray(
            INDArray labels, INDArray output, IActivation activation, @Nullable INDArray mask) {
        return loss.computeScoreArray(wide(labels), wide(output), activation, wideMask(mask));
    }

    @Override
    public INDArray computeGradient(INDArray labels, INDArray output, IActivation activation, @Nullable INDArray mask) {
        return loss.computeGradient(wide(labels), wide(output), activation, wideMask(mask))
                .muli(scale.value())
                .castTo(output.dataType());
    }

    @Override
    public Pair<Double, INDArray> computeGradientAndScore(
            INDArray labels, INDArray output, IActivation activation, @Nullable INDArray mask, boolean average) {
        return new Pair<>(
                computeScore(labels, output, activation, mask, average),
                computeGradient(labels, output, activation, mask));
    }

    @Override
    public String name() {
        return loss.name();
    }
}
