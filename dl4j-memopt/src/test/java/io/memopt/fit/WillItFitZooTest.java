// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.model.Darknet19;
import org.deeplearning4j.zoo.model.LeNet;
import org.deeplearning4j.zoo.model.ResNet50;
import org.deeplearning4j.zoo.model.SqueezeNet;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.deeplearning4j.zoo.model.UNet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Both ways of forecasting on models of other families, batch and resolution varied; some minutes, hence the tag. */
@Tag("soak")
class WillItFitZooTest {
    private static final int CLASSES = 10;
    /** Deep graphs settle after as many iterations as they have vertices; the peak comes long before. */
    private static final int MOST_ITERATIONS = 8;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    static Stream<Arguments> models() {
        Supplier<Model> leNet = () -> LeNet.builder()
                .numClasses(CLASSES)
                .inputShape(shape(1, 28))
                .build()
                .init();
        Supplier<Model> mlp = () -> Networks.mlp(64, 128, CLASSES);
        return Stream.of(
                Arguments.of("LeNet", leNet, InputType.convolutionalFlat(28, 28, 1), images(1, 28), 16),
                Arguments.of("LeNet", leNet, InputType.convolutionalFlat(28, 28, 1), images(1, 28), 64),
                Arguments.of("ResNet50", resNet50(96), image(96), images(3, 96), 6),
                Arguments.of("ResNet50", resNet50(128), image(128), images(3, 128), 4),
                Arguments.of("UNet", uNet(32), image(32), masks(32), 4),
                Arguments.of("UNet", uNet(64), image(64), masks(64), 2),
                Arguments.of("Darknet19", darknet(64), image(64), images(3, 64), 4),
                Arguments.of("Darknet19", darknet(96), image(96), images(3, 96), 8),
                Arguments.of("SqueezeNet", squeezeNet(64), image(64), images(3, 64), 4),
                Arguments.of("SqueezeNet", squeezeNet(96), image(96), images(3, 96), 8),
                Arguments.of("TextGenerationLSTM", textLstm(40), InputType.recurrent(47, 40), text(40), 8),
                Arguments.of("TextGenerationLSTM", textLstm(90), InputType.recurrent(47, 90), text(90), 16),
                Arguments.of("mlp", mlp, InputType.feedForward(64), (IntFunction<DataSet>) WillItFitZooTest::rows, 100),
                Arguments.of(
                        "embedding",
                        (Supplier<Model>) WillItFitZooTest::embedding,
                        InputType.feedForward(1),
                        (IntFunction<DataSet>) WillItFitZooTest::words,
                        50));
    }

    @ParameterizedTest(name = "{0} {4}")
    @MethodSource("models")
    void prediction_isWithinTenPercent(
            String name, Supplier<Model> network, InputType input, IntFunction<DataSet> data, int batch) {
        long started = System.nanoTime();
        MemoryForecast forecast = MemOpt.willItFit(network.get(), data.apply(2).toMultiDataSet());
        long millis = (System.nanoTime() - started) / 1_000_000;

        Prediction prediction = forecast.at(batch);

        int iterations = Math.min(MOST_ITERATIONS, prediction.settledAfter() + 1);
        MeasuredRun run = MeasuredRun.of(network, () -> data.apply(batch), iterations, Networks::fit);
        long derived =
                DerivedForecastTest.derived(network.get(), input).at(batch).peakBytes();
        System.out.printf(
                "%s, batch %d: predicted %d B in %d ms, measured %d B, %+.4f %%, derived %+.4f %%; %s%n",
                name,
                batch,
                prediction.peakBytes(),
                millis,
                run.peakBytes(),
                100.0 * prediction.peakBytes() / run.peakBytes() - 100,
                100.0 * derived / run.peakBytes() - 100,
                prediction.culprit().text());
        assertThat(prediction.peakBytes()).isCloseTo(run.peakBytes(), Percentage.withPercentage(10));
        assertThat(derived).isCloseTo(run.peakBytes(), Percentage.withPercentage(10));
    }

    private static Supplier<Model> resNet50(int side) {
        return () -> ResNet50.builder()
                .numClasses(CLASSES)
                .inputShape(shape(3, side))
                .build()
                .init();
    }

    private static Supplier<Model> uNet(int side) {
        return () -> UNet.builder().inputShape(shape(3, side)).build().init();
    }

    private static Supplier<Model> darknet(int side) {
        return () -> Darknet19.builder()
                .numClasses(CLASSES)
                .inputShape(shape(3, side))
                .build()
                .init();
    }

    private static Supplier<Model> squeezeNet(int side) {
        return () -> SqueezeNet.builder()
                .numClasses(CLASSES)
                .inputShape(shape(3, side))
                .build()
                .init();
    }

    private static Supplier<Model> textLstm(int steps) {
        return () -> TextGenerationLSTM.builder()
                .totalUniqueCharacters(47)
                .inputShape(new int[] {steps, 47})
                .build()
                .init();
    }

    private static Model embedding() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new EmbeddingLayer.Builder().nIn(500).nOut(64).build())
                .layer(new DenseLayer.Builder()
                        .nIn(64)
                        .nOut(32)
                        .activation(Activation.RELU)
                        .build())
                .layer(new OutputLayer.Builder()
                        .nIn(32)
                        .nOut(CLASSES)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
        network.init();
        return network;
    }

    private static InputType image(int side) {
        return InputType.convolutional(side, side, 3);
    }

    private static int[] shape(int channels, int side) {
        return new int[] {channels, side, side};
    }

    private static IntFunction<DataSet> images(int channels, int side) {
        return batch -> new DataSet(Nd4j.rand(batch, channels, side, side), Nd4j.zeros(batch, CLASSES));
    }

    private static IntFunction<DataSet> masks(int side) {
        return batch -> new DataSet(Nd4j.rand(batch, 3, side, side), Nd4j.zeros(batch, 1, side, side));
    }

    private static IntFunction<DataSet> text(int steps) {
        return batch -> new DataSet(Nd4j.rand(batch, 47, steps), Nd4j.zeros(batch, 47, steps));
    }

    private static DataSet rows(int batch) {
        return new DataSet(Nd4j.rand(batch, 64), Nd4j.zeros(batch, CLASSES));
    }

    private static DataSet words(int batch) {
        return new DataSet(Nd4j.zeros(batch, 1), Nd4j.zeros(batch, CLASSES));
    }
}
