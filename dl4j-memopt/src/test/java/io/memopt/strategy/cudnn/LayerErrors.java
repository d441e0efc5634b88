// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.allocator.cudnn.CudnnOptions;
import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngines;
import io.memopt.allocator.cudnn.ScratchHooks;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * How far the results of one layer are from {@link Reference64}, built in and through cuDNN: norm of the difference over the norm
 * of the reference.
 */
public final class LayerErrors {
    private static final double EPSILON = 1e-5;

    private LayerErrors() {}

    /** One convolution layer. */
    public record Case(
            String name,
            ConvolutionMode mode,
            CNN2DFormat format,
            int batch,
            int channels,
            int height,
            int width,
            int filters,
            int kernel,
            int stride,
            int dilation,
            int pad) {}

    /** Small and odd ones, then two as VGG16 has them. */
    public static List<Case> cases() {
        ConvolutionMode same = ConvolutionMode.Same;
        ConvolutionMode cut = ConvolutionMode.Truncate;
        CNN2DFormat first = CNN2DFormat.NCHW;
        CNN2DFormat last = CNN2DFormat.NHWC;
        return List.of(
                new Case("truncate 3x3", cut, first, 4, 5, 17, 19, 7, 3, 1, 1, 0),
                new Case("padded 5x5 stride 2", cut, first, 4, 5, 17, 19, 7, 5, 2, 1, 2),
                new Case("same 3x3", same, first, 4, 16, 20, 20, 16, 3, 1, 1, 0),
                new Case("same 2x2, asymmetric", same, first, 4, 5, 17, 18, 7, 2, 1, 1, 0),
                new Case("same 3x3 stride 2, asymmetric", same, first, 4, 5, 18, 20, 7, 3, 2, 1, 0),
                new Case("same 3x3 dilation 2", same, first, 4, 5, 17, 19, 7, 3, 1, 2, 0),
                new Case("NHWC same 3x3", same, last, 4, 16, 20, 20, 16, 3, 1, 1, 0),
                new Case("NHWC same 3x3 stride 2, asymmetric", same, last, 4, 5, 18, 20, 7, 3, 2, 1, 0),
                new Case("1x1 stride 2", same, first, 4, 16, 20, 20, 8, 1, 2, 1, 0),
                new Case("7x7 stride 2, 3 channels", same, first, 2, 3, 64, 64, 16, 7, 2, 1, 0),
                new Case("64 to 64, 28x28", same, first, 4, 64, 28, 28, 64, 3, 1, 1, 0),
                new Case("128 to 128, 56x56", same, first, 1, 128, 56, 56, 128, 3, 1, 1, 0));
    }

    /** Errors of forward, input gradient, weight gradient and bias gradient, built in and by {@code settings}. */
    public static String convolution(Case layer, Convolutions settings) {
        MultiLayerNetwork network = network(layer, null);
        double[] x = random(layer.batch * layer.channels * layer.height * layer.width, 1);
        INDArray input = inFormat(x, layer.batch, layer.channels, layer.height, layer.width, layer.format);
        ConvolutionGeometry geometry = geometry(network, input, layer);
        ConvolutionShape shape = geometry.shape();
        double[] dy = random((int) (shape.batch() * shape.outputItem()), 2);
        INDArray epsilon =
                inFormat(dy, shape.batch(), shape.filters(), shape.outHeight(), shape.outWidth(), layer.format);

        double[] w = HostEngine.values(network.getLayer(0).getParam("W"));
        double[] bias = HostEngine.values(network.getLayer(0).getParam("b"));
        double[] extended = HostEngine.values(geometry.extend(
                Nd4j.createFromArray(x).reshape(layer.batch, layer.channels, layer.height, layer.width)));
        INDArray dx =
                Nd4j.createFromArray(Reference64.inputGradient(shape, w, dy)).reshape(geometry.inputShape());
        List<double[]> truth = List.of(
                Reference64.forward(shape, extended, w, bias),
                HostEngine.values(geometry.inner(dx)),
                Reference64.weightGradient(shape, extended, dy),
                Reference64.biasGradient(shape, dy));

        return String.format(
                Locale.ROOT,
                "%-36s forward, dx, dw, db: built in %s | cuDNN %s",
                layer.name,
                errors(truth, run(network, 0, input, epsilon, layer.format, "W", "b")),
                attached(
                        network,
                        settings,
                        () -> errors(truth, run(network, 0, input, epsilon, layer.format, "W", "b"))));
    }

    /** The same of a batch normalisation: forward, input gradient, gamma gradient, beta gradient. */
    public static String normalization(Case layer, Convolutions settings) {
        MultiLayerNetwork network = network(
                layer,
                new BatchNormalization.Builder()
                        .eps(EPSILON)
                        .dataFormat(layer.format)
                        .build());
        int area = layer.height * layer.width;
        double[] x = random(layer.batch * layer.channels * area, 3);
        double[] dy = random(x.length, 4);
        double[] gamma = random(layer.channels, 5);
        double[] beta = random(layer.channels, 6);
        network.getLayer(0).getParam("gamma").assign(row(gamma));
        network.getLayer(0).getParam("beta").assign(row(beta));
        double[] mean = Reference64.mean(x, layer.channels, area);
        double[] variance = Reference64.variance(x, mean, area);
        double[][] gradients = Reference64.normalizeBackward(x, dy, mean, variance, gamma, EPSILON, area);
        List<double[]> truth = List.of(
                Reference64.normalize(x, mean, variance, gamma, beta, EPSILON, area),
                gradients[0],
                gradients[1],
                gradients[2]);
        INDArray input = inFormat(x, layer.batch, layer.channels, layer.height, layer.width, layer.format);
        INDArray epsilon = inFormat(dy, layer.batch, layer.channels, layer.height, layer.width, layer.format);

        return String.format(
                Locale.ROOT,
                "%-36s forward, dx, dgamma, dbeta: built in %s | cuDNN %s",
                "batch normalisation, " + layer.name,
                errors(truth, run(network, 0, input, epsilon, layer.format, "gamma", "beta")),
                attached(
                        network,
                        settings,
                        () -> errors(truth, run(network, 0, input, epsilon, layer.format, "gamma", "beta"))));
    }

    /** Convolutions in groups, which Deeplearning4j's layers do not have, by the engine itself. */
    public static String groups(int groups) {
        ConvolutionShape shape = new ConvolutionShape(4, 8, 15, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, groups);
        double[] x = random((int) (shape.batch() * shape.inputItem()), 7);
        double[] w = random(shape.filters() * shape.channels() / groups * 9, 8);
        double[] dy = random((int) (shape.batch() * shape.outputItem()), 9);
        double[] bias = random(shape.filters(), 10);
        INDArray fx = floats(x, 4, 8, 15, 16);
        INDArray fw = floats(w, 16, 8 / groups, 3, 3);
        INDArray fdy = floats(dy, 4, 16, 15, 16);
        INDArray y = Nd4j.create(4, 16, 15, 16);
        INDArray dx = Nd4j.create(4, 8, 15, 16);
        INDArray dw = Nd4j.create(16, 8 / groups, 3, 3);
        INDArray db = Nd4j.create(16);
        try (LayerEngine engine = LayerEngines.openCudnn(
                new CudnnOptions(true, true, false, 256L << 20, 0, true, 1),
                AlgorithmFile.inMemory(),
                ScratchHooks.none())) {
            boolean forward = engine.forward(shape, fx, fw, row(bias), y);
            boolean backward = engine.backward(shape, fx, fw, fdy, dx, dw, db);
            List<double[]> truth = List.of(
                    Reference64.forward(shape, x, w, bias),
                    Reference64.inputGradient(shape, w, dy),
                    Reference64.weightGradient(shape, x, dy),
                    Reference64.biasGradient(shape, dy));
            return "groups=" + groups + " computed " + forward + "/" + backward + ": forward, dx, dw, db: cuDNN "
                    + errors(truth, List.of(values(y), values(dx), values(dw), values(db)));
        }
    }

    private static String attached(MultiLayerNetwork network, Convolutions settings, Supplier<String> run) {
        MemOptConfig config = MemOptConfig.builder().convolutions(settings).build();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            String errors = run.get();
            List<String> notes =
                    memopt.convolutions().map(ConvolutionReport::notes).orElse(List.of("not there"));
            return errors + (notes.isEmpty() ? "" : " " + notes);
        }
    }

    private static List<double[]> run(
            MultiLayerNetwork network, int index, INDArray x, INDArray epsilon, CNN2DFormat format, String... names) {
        Layer layer = network.getLayer(index);
        LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
        layer.setInput(x.dup(), none);
        double[] y = values(DenseArrays.channelsFirst(layer.activate(true, none), format));
        Pair<Gradient, INDArray> back = layer.backpropGradient(epsilon.dup(), none);
        List<double[]> results =
                new ArrayList<>(List.of(y, values(DenseArrays.channelsFirst(back.getSecond(), format))));
        for (String name : names) {
            results.add(values(back.getFirst().getGradientFor(name)));
        }
        return results;
    }

    private static String errors(List<double[]> truth, List<double[]> results) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < truth.size(); i++) {
            text.append(String.format(Locale.ROOT, "%s%.2e", i == 0 ? "" : " ", error(truth.get(i), results.get(i))));
        }
        return text.toString();
    }

    /** Norm of the difference over the norm of {@code truth}; not a number when sizes differ. */
    public static double error(double[] truth, double[] result) {
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < truth.length && truth.length == result.length; i++) {
            difference += (truth[i] - result[i]) * (truth[i] - result[i]);
            norm += truth[i] * truth[i];
        }
        return Math.sqrt(difference / norm);
    }

    private static ConvolutionGeometry geometry(MultiLayerNetwork network, INDArray input, Case layer) {
        long[] in = DenseArrays.channelsFirst(input, layer.format).shape();
        int[] strides = {layer.stride, layer.stride};
        int[] dilation = {layer.dilation, layer.dilation};
        int[] pad = {layer.pad, layer.pad};
        if (layer.mode == ConvolutionMode.Same) {
            int span = (layer.kernel - 1) * layer.dilation + 1;
            for (int i = 0; i < 2; i++) {
                int size = (int) in[2 + i];
                int out = (size + layer.stride - 1) / layer.stride;
                pad[i] = ((out - 1) * layer.stride + span - size) / 2;
            }
        }
        return ConvolutionGeometry.of(in, network.getLayer(0).getParam("W").shape(), strides, pad, dilation, layer.mode)
                .orElseThrow();
    }

    /** The layer, or {@code instead}, and what a network needs behind it. */
    private static MultiLayerNetwork network(Case layer, org.deeplearning4j.nn.conf.layers.@Nullable Layer instead) {
        org.deeplearning4j.nn.conf.layers.Layer first = instead != null
                ? instead
                : new ConvolutionLayer.Builder()
                        .kernelSize(layer.kernel, layer.kernel)
                        .stride(layer.stride, layer.stride)
                        .dilation(layer.dilation, layer.dilation)
                        .padding(layer.pad, layer.pad)
                        .nOut(layer.filters)
                        .biasInit(0.1)
                        .activation(Activation.IDENTITY)
                        .dataFormat(layer.format)
                        .build();
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(11)
                .convolutionMode(layer.mode)
                .list()
                .layer(first)
                .layer(new GlobalPoolingLayer())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(layer.height, layer.width, layer.channels, layer.format))
                .build());
        network.init();
        network.setBackpropGradientsViewArray(Nd4j.create(network.numParams()));
        return network;
    }

    private static INDArray inFormat(double[] values, int n, int c, int h, int w, CNN2DFormat format) {
        return DenseArrays.inFormat(floats(values, n, c, h, w), format).dup('c');
    }

    private static INDArray floats(double[] values, long... shape) {
        float[] narrow = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            narrow[i] = (float) values[i];
        }
        return Nd4j.createFromArray(narrow).reshape(shape);
    }

    private static INDArray row(double[] values) {
        return floats(values, values.length);
    }

    private static double[] values(INDArray array) {
        return HostEngine.values(array);
    }

    /** Numbers that a float holds exactly. */
    private static double[] random(int length, long seed) {
        Random random = new Random(seed);
        double[] values = new double[length];
        for (int i = 0; i < length; i++) {
            values[i] = random.nextFloat() - 0.4f;
        }
        return values;
    }
}
