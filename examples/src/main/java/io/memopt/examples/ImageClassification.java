// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import io.memopt.examples.data.CifarImages;
import io.memopt.examples.data.EmojiImages;
import io.memopt.examples.data.ImageBatches;
import io.memopt.examples.data.ImageSet;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.deeplearning4j.datasets.iterator.EarlyTerminationDataSetIterator;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.jspecify.annotations.Nullable;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Trains a small VGG-like network to sort emoji, or CIFAR-10's photographs, into classes. */
@Command(
        name = "ImageClassification",
        sortOptions = false,
        description = "Trains a VGG-like network on the emoji that come with it, or on CIFAR-10.")
public final class ImageClassification implements Callable<Integer> {
    private static final long SEED = 42;

    @Option(
            names = "--cifar",
            paramLabel = "PATH",
            description = "Directory with CIFAR-10's binary version (data_batch_1.bin, ...), or one file of it.")
    private @Nullable Path cifar;

    @Mixin
    private final RunOptions options = new RunOptions(32, 6);

    public static void main(String[] args) {
        System.exit(RunOptions.execute(new ImageClassification(), args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        ImageSet.Split images = cifar == null ? EmojiImages.load().split(0.2, SEED) : CifarImages.load(cifar, SEED);
        options.check(images.train().size(), "training images");
        ImageBatches training = ImageBatches.training(images.train(), options.batch(), SEED);
        ImageBatches test = ImageBatches.evaluation(images.test(), options.batch());
        MultiLayerNetwork network = network(images.train().classes().size());
        int iterations = options.iterations(training.count());
        String name = cifar == null ? "vgg-emoji" : "vgg-cifar10";
        try (ObservedRun run = new ObservedRun(name, network, options, iterations)) {
            Progress progress = run.progress();
            network.addListeners(progress);
            for (int epoch = 1; progress.done() < iterations; epoch++) {
                // fit() lets an AsyncDataSetIterator prepare the batches on a thread of its own
                network.fit(new EarlyTerminationDataSetIterator(training, iterations - progress.done()));
                Evaluation evaluation = network.evaluate(test);
                progress.println(String.format(
                        "epoch %d: accuracy %.3f on %d test images",
                        epoch, evaluation.accuracy(), images.test().size()));
            }
            run.finish();
        }
        return 0;
    }

    /** The first three blocks of VGG-11, with a quarter of its channels and batch normalisation. */
    static MultiLayerNetwork network(int classes) {
        NeuralNetConfiguration.ListBuilder layers = new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .updater(new Adam(2e-3))
                .weightInit(WeightInit.RELU)
                .convolutionMode(ConvolutionMode.Same)
                .l2(1e-4)
                .list();
        for (int channels : new int[] {16, 32, 64}) {
            for (String part : channels == 64 ? List.of("a", "b") : List.of("a")) {
                String name = channels + part;
                layers.layer(new ConvolutionLayer.Builder(3, 3)
                        .name("conv" + name)
                        .nOut(channels)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build());
                layers.layer(new BatchNormalization.Builder().name("bn" + name).build());
                layers.layer(new ActivationLayer.Builder()
                        .name("relu" + name)
                        .activation(Activation.RELU)
                        .build());
            }
            layers.layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                    .name("pool" + channels)
                    .kernelSize(2, 2)
                    .stride(2, 2)
                    .build());
        }
        layers.layer(new DenseLayer.Builder()
                .name("dense")
                .nOut(128)
                .activation(Activation.RELU)
                .dropOut(0.5)
                .build());
        layers.layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                .name("out")
                .nOut(classes)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                layers.setInputType(InputType.convolutional(ImageSet.SIDE, ImageSet.SIDE, ImageSet.CHANNELS))
                        .build());
        network.init();
        return network;
    }
}
