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
import io.memopt.allocator.cudnn.SimulatedScratch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
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
    /** Where ways are chosen from, and their scratch memory; null for one way that takes none. */
    private final @Nullable SimulatedScratch scratch;

    HostEngine() {
        this(null);
    }

    HostEngine(@Nullable SimulatedScratch scratch) {
        this.scratch = scratch;
    }

    @Override
    public String description() {
        return scratch == null ? "host, double precision" : scratch.description();
    }

    @Override
    public Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        if (scratch != null) {
            return scratch.table(shape, pass);
        }
        return Optional.of(new AlgorithmTable(64, true, refused.contains(pass) ? List.of() : List.of(WAY)));
    }

    @Override
    public Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        if (scratch != null) {
            return scratch.chosen(shape, pass);
        }
        return refused.contains(pass) ? Optional.empty() : Optional.of(WAY);
    }

    @Override
    public void limitScratch(long bytes, long aloneBytes) {
        if (scratch != null) {
            scratch.limit(bytes, aloneBytes);
        }
    }

    @Override
    public Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes) {
        return scratch == null ? chosen(shape, pass) : scratch.chosenWithin(shape, pass, bytes);
    }

    @Override
    public long scratchBytes() {
        return scratch == null ? 64 : scratch.heldBytes();
    }

    /** The way to go. */
    private int takeScratch(ConvolutionShape shape, ConvolutionPass pass) {
        int way = scratch == null ? 0 : scratch.run(shape, pass);
        if (way < 0) {
            throw new AssertionError("no scratch memory for " + pass + " of " + shape);
        }
        return way;
    }

    /** Sums over one, two or all examples at a time, as {@code way} is 2, 1 or 0; those sums are added in single precision. */
    private static double[] weightGradient(ConvolutionShape shape, double[] x, double[] dy, int way) {
        int step = way == 0 ? shape.batch() : Math.min(shape.batch(), 3 - way);
        float[] sum = new float[(int) shape.weights()];
        for (int from = 0; from < shape.batch(); from += step) {
            int to = Math.min(shape.batch(), from + step);
            double[] part = Reference64.weightGradient(
                    shape.withBatch(to - from), items(x, shape.batch(), from, to), items(dy, shape.batch(), from, to));
            for (int i = 0; i < sum.length; i++) {
                sum[i] += (float) part[i];
            }
        }
        return IntStream.range(0, sum.length).mapToDouble(i -> sum[i]).toArray();
    }

    private static double[] items(double[] all, int count, int from, int to) {
        int item = all.length / count;
        return Arrays.copyOfRange(all, from * item, to * item);
    }

    @Override
    public boolean forward(ConvolutionShape shape, INDArray x, INDArray w, @Nullable INDArray bias, INDArray y) {
        check(x, w, y);
        takeScratch(shape, ConvolutionPass.FORWARD);
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
        int way = takeScratch(shape, ConvolutionPass.BACKWARD_FILTER);
        takeScratch(shape, ConvolutionPass.BACKWARD_DATA);
        put(dx, Reference64.inputGradient(shape, values(w), values(dy)));
        put(dw, weightGradient(shape, values(x), values(dy), way));
        if (db != null) {
            check(db);
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
        if (scratch != null) {
            scratch.close();
        }
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

    /** Element by element, which makes no arrays. */
    static double[] values(INDArray array) {
        double[] values = new double[Math.toIntExact(array.length())];
        boolean dense = DenseArrays.isDense(array);
        DataBuffer elements = array.data();
        for (int i = 0; i < values.length; i++) {
            values[i] = dense ? elements.getDouble(i) : array.getDouble(i);
        }
        return values;
    }

    /** Into an array that was checked. */
    private static void put(INDArray array, double[] values) {
        if (array.length() != values.length) {
            throw new AssertionError(array.length() + " elements for " + values.length);
        }
        DataBuffer elements = array.data();
        for (int i = 0; i < values.length; i++) {
            elements.put(i, values[i]);
        }
    }
}
