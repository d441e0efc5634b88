// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.convolution;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlannedArray;
import io.memopt.allocator.use.UseBook;
import io.memopt.allocator.use.UseWindow;
import java.util.Arrays;
import java.util.Random;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.BaseConvBuilder;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class LeanConvolutionsTest {
    private static final int SIDE = 9;
    private static final int CLASSES = 3;

    /** One convolution above another, so that gradients go through the upper one; odd sizes that no copy divides. */
    @ParameterizedTest
    @CsvSource({
        "FLOAT, Truncate, 3, 3, 1, 1, true, RELU, 7",
        "FLOAT, Same, 3, 3, 1, 1, false, IDENTITY, 8",
        "FLOAT, Same, 5, 2, 2, 1, true, TANH, 5",
        "FLOAT, Truncate, 2, 3, 2, 1, true, SIGMOID, 3",
        "FLOAT, Same, 3, 3, 1, 2, true, RELU, 6",
        "FLOAT, Truncate, 1, 1, 1, 1, false, IDENTITY, 4",
        "FLOAT, Same, 3, 3, 1, 1, true, RELU, 2",
        "FLOAT, Same, 3, 3, 1, 1, true, RELU, 1",
        "DOUBLE, Same, 3, 3, 1, 1, true, RELU, 5",
        "HALF, Same, 3, 3, 1, 1, true, RELU, 5",
    })
    void gradientsAndScore_areTheSameBits(
            DataType type,
            ConvolutionMode mode,
            int height,
            int width,
            int stride,
            int dilation,
            boolean bias,
            Activation activation,
            int batch) {
        ConvolutionLayer.Builder lower = new ConvolutionLayer.Builder(height, width).nOut(4);
        ConvolutionLayer.Builder upper = new ConvolutionLayer.Builder(height, width)
                .nOut(5)
                .stride(stride, stride)
                .dilation(dilation, dilation)
                .hasBias(bias)
                .activation(activation)
                .dropOut(0.7);
        MultiLayerNetwork network = network(type, mode, SIDE, lower, upper);

        assertSameBits(network, batch, SIDE);
    }

    /** Small examples go together in one copy, large ones by two. */
    @ParameterizedTest
    @ValueSource(ints = {5, 64})
    void copies_ofManyExamplesOrFew_giveTheSameBits(int side) {
        MultiLayerNetwork network = network(
                DataType.FLOAT,
                ConvolutionMode.Same,
                side,
                new ConvolutionLayer.Builder(3, 3).nOut(16),
                new ConvolutionLayer.Builder(3, 3).nOut(4));

        assertSameBits(network, 7, side);
    }

    /** By Deeplearning4j's own path too after passes of ours, and the other way round. */
    @ParameterizedTest
    @EnumSource(
            value = WorkspaceMode.class,
            names = {"ENABLED", "NONE"})
    void weightNoise_isDrawnInEachPass_asByDeeplearning4j(WorkspaceMode workspaces) {
        MultiLayerNetwork network = network(
                DataType.FLOAT,
                ConvolutionMode.Same,
                SIDE,
                new ConvolutionLayer.Builder(3, 3).nOut(4).weightNoise(new DropConnect(0.6, true)),
                new ConvolutionLayer.Builder(3, 3)
                        .nOut(5)
                        .weightNoise(new WeightNoise(new NormalDistribution(0, 0.3), true, true)));
        network.getLayerWiseConfigurations().setTrainingWorkspaceMode(workspaces);
        Random random = new Random(3);
        INDArray features = random(random, 6, 2, SIDE, SIDE);
        INDArray labels = random(random, 6, CLASSES);
        double[] first = gradientsAndScore(network, features, labels, 7);
        double[] second = gradientsAndScore(network, features, labels, 8);
        assertThat(second).isNotEqualTo(first);

        try (LeanConvolutions convolutions = new LeanConvolutions()) {
            convolutions.begin(network.getLayers());
            assertThat(gradientsAndScore(network, features, labels, 7)).isEqualTo(first);
            assertThat(gradientsAndScore(network, features, labels, 8)).isEqualTo(second);
            assertThat(LeanConvolutions.compute(network.getLayer(1))).isTrue();
        }
        assertThat(gradientsAndScore(network, features, labels, 7)).isEqualTo(first);
    }

    private static void assertSameBits(MultiLayerNetwork network, int batch, int side) {
        Random random = new Random(3);
        INDArray features =
                random(random, batch, 2, side, side).castTo(network.params().dataType());
        INDArray output = random(random, batch, CLASSES).castTo(network.params().dataType());
        double[] plain = gradientsAndScore(network, features, output);

        double[] lean;
        try (LeanConvolutions convolutions = new LeanConvolutions()) {
            convolutions.begin(network.getLayers());
            lean = gradientsAndScore(network, features, output);
            assertThat(network.getLayers()[1].getHelper()).isInstanceOf(LeanConvolution.class);
        }

        assertThat(lean).isEqualTo(plain);
        assertThat(Arrays.stream(lean).filter(value -> value != 0).count()).isGreaterThan(lean.length / 4);
        assertThat(network.getLayers()[1].getHelper()).isNull();
        assertThat(gradientsAndScore(network, features, output)).isEqualTo(plain);
    }

    @Test
    void arena_holdsOneUnfoldedInput_insteadOfTwo() {
        int batch = 16;
        int side = 16;
        int channels = 8;
        MultiLayerNetwork network = network(
                DataType.FLOAT,
                ConvolutionMode.Same,
                side,
                new ConvolutionLayer.Builder(3, 3).nOut(channels),
                new ConvolutionLayer.Builder(3, 3).nOut(channels));
        Random random = new Random(5);
        INDArray features = random(random, batch, 2, side, side);
        INDArray labels = random(random, batch, CLASSES);
        try (MemOpt memopt = MemOpt.attach(network);
                LeanConvolutions convolutions = new LeanConvolutions()) {
            long plain = arenaBytes(network, features, labels);
            convolutions.begin(network.getLayers());
            long lean = arenaBytes(network, features, labels);

            long unfolded = (long) batch * side * side * channels * 3 * 3 * Float.BYTES;
            assertThat(plain).isGreaterThan(2 * unfolded);
            assertThat(lean).isLessThan(plain - unfolded / 4).isGreaterThan(unfolded);
        }
    }

    @Test
    void layers_thatWouldNotBeComputedTheSame_stayAsTheyAre() {
        MultiLayerNetwork served = network(DataType.FLOAT, ConvolutionMode.Same, SIDE, convolution(), convolution());
        MultiLayerNetwork cached = network(DataType.FLOAT, ConvolutionMode.Same, SIDE, convolution(), convolution());
        MultiLayerNetwork last = network(DataType.FLOAT, ConvolutionMode.Same, SIDE, convolution(), convolution());
        for (int i = 0; i < 2; i++) {
            cached.getLayer(i).conf().setCacheMode(CacheMode.DEVICE);
            ((ConvolutionLayer) last.getLayer(i).conf().getLayer()).setCnn2dDataFormat(CNN2DFormat.NHWC);
        }
        MultiLayerNetwork transposed = network(
                DataType.FLOAT,
                ConvolutionMode.Same,
                SIDE,
                new Deconvolution2D.Builder(3, 3).nOut(4),
                new Deconvolution2D.Builder(3, 3).nOut(4));

        assertThat(LeanConvolutions.any(served.getLayers())).isTrue();
        assertThat(LeanConvolutions.any(cached.getLayers())).isFalse();
        assertThat(LeanConvolutions.any(last.getLayers())).isFalse();
        assertThat(LeanConvolutions.any(transposed.getLayers())).isFalse();
    }

    private static ConvolutionLayer.Builder convolution() {
        return new ConvolutionLayer.Builder(3, 3).nOut(4);
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    private static long arenaBytes(MultiLayerNetwork network, INDArray features, INDArray labels) {
        gradientsAndScore(network, features, labels);
        UseBook book = MemoryHooks.borrowUses();
        try {
            UseWindow window = book.openWindow();
            gradientsAndScore(network, features, labels);
            return ArenaPlan.of(
                            window.close().stream()
                                    .filter(array -> NetworkWorkspaces.serves(array.workspace()))
                                    .map(array -> PlannedArray.of(array, false))
                                    .toList(),
                            PlanOptions.greedy())
                    .height();
        } finally {
            MemoryHooks.returnUses(book);
        }
    }

    private static double[] gradientsAndScore(MultiLayerNetwork network, INDArray features, INDArray labels) {
        return gradientsAndScore(network, features, labels, 7);
    }

    private static double[] gradientsAndScore(
            MultiLayerNetwork network, INDArray features, INDArray labels, long seed) {
        Nd4j.getRandom().setSeed(seed);
        network.setInput(features);
        network.setLabels(labels);
        network.computeGradientAndScore();
        double[] gradients = network.getFlattenedGradients().dup().data().asDouble();
        double[] all = Arrays.copyOf(gradients, gradients.length + 1);
        all[gradients.length] = network.score();
        return all;
    }

    private static MultiLayerNetwork network(
            DataType type, ConvolutionMode mode, int side, BaseConvBuilder<?> lower, BaseConvBuilder<?> upper) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .dataType(type)
                .weightInit(WeightInit.XAVIER)
                .convolutionMode(mode)
                .trainingWorkspaceMode(WorkspaceMode.ENABLED)
                .list()
                .layer((FeedForwardLayer) lower.build())
                .layer((FeedForwardLayer) upper.build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nOut(CLASSES)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.convolutional(side, side, 2))
                .build());
        network.init();
        return network;
    }

    private static INDArray random(Random random, long... shape) {
        INDArray array = Nd4j.createUninitialized(DataType.FLOAT, shape, 'c');
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextFloat() - 0.5f);
        }
        return array;
    }
}
