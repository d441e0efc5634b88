// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import io.memopt.examples.data.EmojiImages;
import io.memopt.examples.data.ImageBatches;
import io.memopt.examples.data.ImageSet;
import java.io.IOException;
import java.util.concurrent.Callable;
import org.deeplearning4j.datasets.iterator.EarlyTerminationDataSetIterator;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Trains a small residual network, a {@link ComputationGraph} with shortcuts, to sort emoji into classes. */
@Command(
        name = "ResidualGraph",
        sortOptions = false,
        description = "Trains a small residual network on the emoji that come with it.")
public final class ResidualGraph implements Callable<Integer> {
    private static final long SEED = 42;

    @Mixin
    private final RunOptions options = new RunOptions(32, 6);

    public static void main(String[] args) {
        System.exit(RunOptions.execute(new ResidualGraph(), args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        ImageSet.Split images = EmojiImages.load().split(0.2, SEED);
        options.check(images.train().size(), "training images");
        ImageBatches training = ImageBatches.training(images.train(), options.batch(), SEED);
        ImageBatches test = ImageBatches.evaluation(images.test(), options.batch());
        ComputationGraph graph = graph(images.train().classes().size());
        int iterations = options.iterations(training.count());
        try (ObservedRun run = new ObservedRun("residual-emoji", graph, options, iterations)) {
            Progress progress = run.progress();
            graph.addListeners(progress);
            for (int epoch = 1; progress.done() < iterations; epoch++) {
                graph.fit(new EarlyTerminationDataSetIterator(training, iterations - progress.done()));
                Evaluation evaluation = graph.evaluate(test);
                progress.println(String.format(
                        "epoch %d: accuracy %.3f on %d test images",
                        epoch, evaluation.accuracy(), images.test().size()));
            }
            run.finish();
        }
        return 0;
    }

    static ComputationGraph graph(int classes) {
        GraphBuilder builder = new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .updater(new Adam(2e-3))
                .weightInit(WeightInit.RELU)
                .convolutionMode(ConvolutionMode.Same)
                .l2(1e-4)
                .graphBuilder()
                .addInputs("image")
                .setInputTypes(InputType.convolutional(ImageSet.SIDE, ImageSet.SIDE, ImageSet.CHANNELS));
        String last = convolution(builder, "stem", "image", 3, 16, 2);
        last = relu(builder, "stem-relu", last);
        last = block(builder, "block1", last, 16, 1);
        last = block(builder, "block2", last, 32, 2);
        last = block(builder, "block3", last, 32, 1);
        last = block(builder, "block4", last, 64, 2);
        builder.addLayer("average", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), last)
                .addLayer(
                        "out",
                        new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                                .nOut(classes)
                                .activation(Activation.SOFTMAX)
                                .build(),
                        "average")
                .setOutputs("out");
        ComputationGraph graph = new ComputationGraph(builder.build());
        graph.init();
        return graph;
    }

    /**
     * Two convolutions whose result is added to their input; where they change its shape, the shortcut is a convolution
     * of 1x1. Gives the name of the last vertex.
     */
    private static String block(GraphBuilder builder, String name, String input, int channels, int stride) {
        String first = relu(builder, name + "-relu1", convolution(builder, name + "-1", input, 3, channels, stride));
        String second = convolution(builder, name + "-2", first, 3, channels, 1);
        String shortcut = stride == 1 ? input : convolution(builder, name + "-shortcut", input, 1, channels, stride);
        builder.addVertex(name + "-add", new ElementWiseVertex(ElementWiseVertex.Op.Add), second, shortcut);
        return relu(builder, name + "-relu2", name + "-add");
    }

    /** A convolution and its batch normalisation. */
    private static String convolution(
            GraphBuilder builder, String name, String input, int kernel, int channels, int stride) {
        builder.addLayer(
                name,
                new ConvolutionLayer.Builder(kernel, kernel)
                        .stride(stride, stride)
                        .nOut(channels)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build(),
                input);
        builder.addLayer(name + "-bn", new BatchNormalization.Builder().build(), name);
        return name + "-bn";
    }

    private static String relu(GraphBuilder builder, String name, String input) {
        builder.addLayer(
                name, new ActivationLayer.Builder().activation(Activation.RELU).build(), input);
        return name;
    }
}
