// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.AlgorithmTable;
import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionMath;
import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngineException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An engine that really computes, on the host and in double precision, and can be told to refuse or to fail. */
final class HostEngine implements LayerEngine {
    private static final ConvolutionAlgorithm WAY = new ConvolutionAlgorithm(0, ConvolutionMath.FMA, 1, 64, 1000);

    final Set<ConvolutionPass> refused = EnumSet.noneOf(ConvolutionPass.class);
    final List<ConvolutionShape> forwards = new ArrayList<>();
    int backwards;
    int normalizations;
    int normalizationsBackward;
    int copies;
    boolean failing;
    boolean closed;

    @Override
    public String description() {
        return "host, double precision";
    }

    @Override
    public Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        return Optional.of(new AlgorithmTable(64, true, refused.contains(pass) ? List.of() : List.of(WAY)));
    }

    @Override
    public Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        return refused.contains(pass) ? Optional.empty() : Optional.of(WAY);
    }

    @Override
    public long scratchBytes() {
        return 64;
    }

    @Override
    public boolean forward(ConvolutionShape shape, INDArray x, INDArray w, @Nullable INDArray bias, INDArray y) {
        check(x, w, y);
        forwards.add(shape);
        double[] biases = bias == null ? new double[shape.filters()] : values(bias);
        put(y, Reference64.forward(shape, values(x), values(w), biases));
        return true;
    }

    @Override
    public boolean backward(
            ConvolutionShape shape,
            INDArray x,
            INDArray w,
            INDArray dy,
            INDArray dx,
            INDArray dw,
            @Nullable INDArray db) {
        check(x, w, dy, dx, dw);
        backwards++;
        put(dx, Reference64.inputGradient(shape, values(w), values(dy)));
        put(dw, Reference64.weightGradient(shape, values(x), values(dy)));
        if (db != null) {
            put(db, Reference64.biasGradient(shape, values(dy)));
        }
        return true;
    }

    @Override
    public void normalizeTraining(
            INDArray x, INDArray gamma, INDArray beta, double epsilon, INDArray y, Statistics statistics) {
        check(x, gamma, beta, y, statistics.mean(), statistics.inverseDeviation());
        normalizations++;
        double[] mean = Reference64.mean(values(x), (int) x.size(1), area(x));
        double[] variance = Reference64.variance(values(x), mean, area(x));
        put(y, Reference64.normalize(values(x), mean, variance, values(gamma), values(beta), epsilon, area(x)));
        put(statistics.mean(), mean);
        double[] inverse = new double[mean.length];
        for (int i = 0; i < mean.length; i++) {
            inverse[i] = 1 / Math.sqrt(variance[i] + epsilon);
        }
        put(statistics.inverseDeviation(), inverse);
    }

    @Override
    public void normalizeInference(
            INDArray x, INDArray gamma, INDArray beta, INDArray mean, INDArray variance, double epsilon, INDArray y) {
        check(x, gamma, beta, mean, variance, y);
        put(
                y,
                Reference64.normalize(
                        values(x), values(mean), values(variance), values(gamma), values(beta), epsilon, area(x)));
    }

    @Override
    public void normalizeBackward(
            INDArray x,
            INDArray dy,
            INDArray gamma,
            double epsilon,
            INDArray dx,
            INDArray dGamma,
            INDArray dBeta,
            Statistics statistics) {
        check(x, dy, gamma, dx, dGamma, dBeta);
        normalizationsBackward++;
        double[] variance = values(statistics.inverseDeviation());
        for (int i = 0; i < variance.length; i++) {
            variance[i] = 1 / (variance[i] * variance[i]) - epsilon;
        }
        double[][] gradients = Reference64.normalizeBackward(
                values(x), values(dy), values(statistics.mean()), variance, values(gamma), epsilon, area(x));
        put(dx, gradients[0]);
        put(dGamma, gradients[1]);
        put(dBeta, gradients[2]);
    }

    @Override
    public void copy(INDArray from, INDArray to) {
        check(from, to);
        copies++;
        to.assign(from.reshape(to.shape()));
    }

    @Override
    public void close() {
        closed = true;
    }

    private void check(INDArray... arrays) {
        if (failing || closed) {
            throw new LayerEngineException("the library failed.");
        }
        for (INDArray array : arrays) {
            if (!DenseArrays.isDense(array)) {
                throw new AssertionError("not dense: " + array.shapeInfoToString());
            }
        }
    }

    private static int area(INDArray x) {
        return (int) (x.size(2) * x.size(3));
    }

    static double[] values(INDArray array) {
        return array.dup('c').data().asDouble();
    }

    private static void put(INDArray array, double[] values) {
        if (array.length() != values.length) {
            throw new AssertionError(array.length() + " elements for " + values.length);
        }
        array.assign(org.nd4j.linalg.factory.Nd4j.createFromArray(values)
                .castTo(array.dataType())
                .reshape(array.shape()));
    }
}
