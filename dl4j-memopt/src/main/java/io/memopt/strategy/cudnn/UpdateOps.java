// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import java.util.ArrayList;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.CustomOp;
import org.nd4j.linalg.api.ops.Op;
import org.nd4j.linalg.api.ops.impl.scalar.ScalarMax;
import org.nd4j.linalg.api.ops.impl.scalar.ScalarMultiplication;
import org.nd4j.linalg.api.ops.impl.scalar.ScalarReverseDivision;
import org.nd4j.linalg.api.ops.impl.scalar.ScalarSubtraction;
import org.nd4j.linalg.api.ops.impl.transforms.pairwise.arithmetic.AddOp;
import org.nd4j.linalg.api.ops.impl.transforms.pairwise.arithmetic.DivOp;
import org.nd4j.linalg.api.ops.impl.transforms.pairwise.arithmetic.MulOp;
import org.nd4j.linalg.api.ops.impl.transforms.pairwise.arithmetic.PowPairwise;
import org.nd4j.linalg.api.ops.impl.transforms.pairwise.arithmetic.SubOp;
import org.nd4j.linalg.api.ops.impl.transforms.strict.Log;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What Deeplearning4j's batch normalisation takes off its running statistics after a minibatch, as the operations that it makes, with
 * variance {@code v} and mean {@code m} of the minibatch, running mean {@code M}, {@code s = log10} of the running deviation, and decay
 * {@code d}:
 *
 * <pre>
 *   v = max(0, 1 / i^2 - epsilon)           i: the inverse deviation, of which the engine keeps no square
 *   off M: (1 - d) (M - m)
 *   off s: log10(deviation before / after) = ln(w / (d w + (1 - d) v)) / (2 ln 10),  w = (10^s)^2
 * </pre>
 *
 * <p>The operations are made once and run in each pass; they write into arrays that last. Threading: one thread at a time.
 */
final class UpdateOps {
    /** As {@code BatchNormalization} has it. */
    private static final double HALF_BY_LN10 = 1.0 / (2 * Math.log(10.0));

    private static final double BASE = 10.0;

    private final List<Runnable> steps = new ArrayList<>();
    private final INDArray meanUpdate;
    private final INDArray logUpdate;

    /**
     * On arrays of one shape; made outside workspaces.
     *
     * @param runningMean is overwritten
     */
    UpdateOps(
            INDArray mean,
            INDArray inverse,
            INDArray runningMean,
            INDArray logDeviation,
            double decay,
            double epsilon) {
        INDArray base = Nd4j.createUninitialized(mean.dataType(), mean.shape()).assign(BASE);
        INDArray variance = mean.ulike();
        INDArray before = mean.ulike();
        INDArray after = mean.ulike();
        meanUpdate = runningMean;
        logUpdate = before;

        custom(new MulOp(inverse, inverse, variance));
        plain(new ScalarReverseDivision(variance, null, variance, 1.0));
        plain(new ScalarSubtraction(variance, null, variance, epsilon));
        plain(new ScalarMax(variance, 0.0));

        custom(new SubOp(runningMean, mean, meanUpdate));
        plain(new ScalarMultiplication(meanUpdate, null, meanUpdate, 1 - decay));

        plain(new PowPairwise(base, logDeviation, before));
        custom(new MulOp(before, before, before));
        plain(new ScalarMultiplication(before, null, after, decay));
        plain(new ScalarMultiplication(variance, null, variance, 1 - decay));
        custom(new AddOp(after, variance, after));
        custom(new DivOp(before, after, logUpdate));
        plain(new Log(logUpdate));
        plain(new ScalarMultiplication(logUpdate, null, logUpdate, HALF_BY_LN10));
    }

    private void custom(CustomOp operation) {
        steps.add(() -> Nd4j.getExecutioner().exec(operation));
    }

    private void plain(Op operation) {
        steps.add(() -> Nd4j.getExecutioner().exec(operation));
    }

    void run() {
        steps.forEach(Runnable::run);
    }

    /** What comes off the running mean. */
    INDArray meanUpdate() {
        return meanUpdate;
    }

    /** What comes off the logarithm of the running deviation. */
    INDArray logUpdate() {
        return logUpdate;
    }
}
