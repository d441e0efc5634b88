// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.zoo.model.LeNet;
import org.deeplearning4j.zoo.model.ResNet50;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The networks that are timed on a GPU, at their batch sizes. */
enum CudnnCase {
    LENET(64, 1, 28, 10, 40),
    CIFAR(128, 3, 32, 10, 40),
    VGG_BN(32, 3, 32, 10, 40),
    VGG16(32, 3, 224, 1000, 9),
    RESNET50(32, 3, 224, 1000, 20),
    /** Two recurrent layers of {@value #UNITS} units on texts of {@value #CHARACTERS} characters, of which there are as many as classes. */
    CHAR_LSTM(32, 1, 1, 80, 10);

    private static final int UNITS = 256;
    private static final int CHARACTERS = 200;

    private final int batch;
    private final int channels;
    private final int side;
    private final int classes;
    private final int steps;

    CudnnCase(int batch, int channels, int side, int classes, int steps) {
        this.batch = batch;
        this.channels = channels;
        this.side = side;
        this.classes = classes;
        this.steps = steps;
    }

    int batch() {
        return batch;
    }

    int steps() {
        return steps;
    }

    /** A new network; the same parameters every time but for the zoo's ResNet50. */
    Model create() {
        int[] shape = {channels, side, side};
        return switch (this) {
            case LENET ->
                LeNet.builder()
                        .numClasses(classes)
                        .seed(123)
                        .inputShape(shape)
                        .build()
                        .init();
            case VGG16 ->
                (Model) org.deeplearning4j
                        .zoo
                        .model
                        .VGG16
                        .builder()
                        .numClasses(classes)
                        .seed(123)
                        .updater(new Nesterovs(1e-3))
                        .inputShape(shape)
                        .build()
                        .init();
            case RESNET50 ->
                ResNet50.builder()
                        .numClasses(classes)
                        .seed(123)
                        .inputShape(shape)
                        .build()
                        .init();
            case CIFAR -> stacked(false, 32, 32, 0, 64, 64, 0, 128, 0);
            case VGG_BN -> stacked(true, 64, 64, 0, 128, 128, 0, 256, 256, 0);
            case CHAR_LSTM -> recurrent();
        };
    }

    /** Uniform pixels and labels, or characters of which each is to tell the next; the same for the same seed. */
    DataSet data(int items, long seed) {
        Random random = new Random(seed);
        if (this == CHAR_LSTM) {
            return text(items, random);
        }
        float[] x = new float[items * channels * side * side];
        for (int i = 0; i < x.length; i++) {
            x[i] = random.nextFloat();
        }
        float[] y = new float[items * classes];
        for (int i = 0; i < items; i++) {
            y[i * classes + random.nextInt(classes)] = 1;
        }
        long[] shape =
                this == LENET ? new long[] {items, (long) side * side} : new long[] {items, channels, side, side};
        return new DataSet(
                Nd4j.createFromArray(x).reshape(shape), Nd4j.createFromArray(y).reshape(items, classes));
    }

    private DataSet text(int items, Random random) {
        float[][][] x = new float[items][classes][CHARACTERS];
        float[][][] y = new float[items][classes][CHARACTERS];
        for (int item = 0; item < items; item++) {
            int next = random.nextInt(classes);
            for (int i = 0; i < CHARACTERS; i++) {
                x[item][next][i] = 1;
                next = random.nextInt(classes);
                y[item][next][i] = 1;
            }
        }
        return new DataSet(Nd4j.createFromArray(x), Nd4j.createFromArray(y));
    }

    private Model recurrent() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
                .weightInit(WeightInit.XAVIER)
                .list()
                .layer(new LSTM.Builder()
                        .nOut(UNITS)
                        .activation(Activation.TANH)
                        .build())
                .layer(new LSTM.Builder()
                        .nOut(UNITS)
                        .activation(Activation.TANH)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(classes)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(classes, CHARACTERS))
                .build());
        network.init();
        return network;
    }

    /** 3x3 convolutions with so many filters each; 0 is a pooling. */
    private Model stacked(boolean normalized, int... filters) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
                .weightInit(WeightInit.RELU)
                .convolutionMode(ConvolutionMode.Same)
                .list();
        for (int count : filters) {
            if (count == 0) {
                list.layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build());
            } else {
                list.layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(count)
                        .hasBias(!normalized)
                        .activation(normalized ? Activation.IDENTITY : Activation.RELU)
                        .build());
                if (normalized) {
                    list.layer(new BatchNormalization.Builder().build());
                    list.layer(new ActivationLayer.Builder()
                            .activation(Activation.RELU)
                            .build());
                }
            }
        }
        list.layer(
                new DenseLayer.Builder().nOut(256).activation(Activation.RELU).build());
        list.layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                .nOut(classes)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.convolutional(side, side, channels)).build());
        network.init();
        return network;
    }
}
