// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.zoo.model.ResNet50;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of a real size, whose memory figures are quoted. */
public enum ReferenceNetworks {
    /** Batch 64 of {@code [784]}. */
    LENET {
        @Override
        public Model create() {
            return init(builder(WeightInit.XAVIER)
                    .list()
                    .layer(convolution(5, 20, Activation.RELU).build())
                    .layer(pooling())
                    .layer(convolution(5, 50, Activation.RELU).build())
                    .layer(pooling())
                    .layer(dense(500))
                    .layer(output())
                    .setInputType(InputType.convolutionalFlat(28, 28, 1)));
        }

        @Override
        public DataSet data(long seed) {
            return images(seed, 64, 64, 784);
        }
    },

    /** Batch 16 of {@code [3, 16, 16]}. */
    RESIDUAL_GRAPH {
        @Override
        public Model create() {
            ComputationGraph graph = new ComputationGraph(builder(WeightInit.RELU)
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.convolutional(16, 16, 3))
                    .addLayer("c1", convolution(3, 16, Activation.RELU).build(), "in")
                    .addLayer("c2", convolution(3, 16, Activation.IDENTITY).build(), "c1")
                    .addLayer("bn", new BatchNormalization.Builder().build(), "c2")
                    .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn", "c1")
                    .addLayer("relu", relu(), "add")
                    .addLayer("pool", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), "relu")
                    .addLayer("out", output(), "pool")
                    .setOutputs("out")
                    .build());
            graph.init();
            return graph;
        }

        @Override
        public DataSet data(long seed) {
            return images(seed, 16, 16, 3, 16, 16);
        }
    },

    /** Batch 32, 40 steps of 32. */
    LSTM_STACK {
        @Override
        public Model create() {
            return init(builder(WeightInit.XAVIER)
                    .list()
                    .layer(new LSTM.Builder()
                            .nOut(128)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new LSTM.Builder()
                            .nOut(128)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                            .nOut(16)
                            .activation(Activation.SOFTMAX)
                            .build())
                    .setInputType(InputType.recurrent(32)));
        }

        @Override
        public DataSet data(long seed) {
            Random random = new Random(seed);
            INDArray labels = Nd4j.zeros(32, 16, 40);
            for (int i = 0; i < 32 * 40; i++) {
                labels.putScalar(i / 40, random.nextInt(16), i % 40, 1);
            }
            return new DataSet(uniform(random, 32 * 32 * 40).reshape(32, 32, 40), labels);
        }
    },

    /** Six convolutions with batch normalisation, batch 32 of {@code [3, 32, 32]}. */
    VGG_LIKE {
        @Override
        public Model create() {
            NeuralNetConfiguration.ListBuilder list = builder(WeightInit.RELU)
                    .convolutionMode(ConvolutionMode.Same)
                    .list();
            for (int channels : new int[] {32, 32, 0, 64, 64, 0, 128, 128, 0}) {
                if (channels == 0) {
                    list.layer(pooling());
                } else {
                    list.layer(convolution(3, channels, Activation.IDENTITY)
                                    .hasBias(false)
                                    .build())
                            .layer(new BatchNormalization.Builder().build())
                            .layer(relu());
                }
            }
            return init(list.layer(dense(256)).layer(output()).setInputType(InputType.convolutional(32, 32, 3)));
        }

        @Override
        public DataSet data(long seed) {
            return images(seed, 32, 32, 3, 32, 32);
        }
    },

    /** Batch 4 of {@code [3, 96, 96]}. */
    RESNET50 {
        @Override
        public Model create() {
            return ResNet50.builder()
                    .seed(123)
                    .numClasses(CLASSES)
                    .inputShape(new int[] {3, 96, 96})
                    .build()
                    .init();
        }

        @Override
        public DataSet data(long seed) {
            return images(seed, 4, 4, 3, 96, 96);
        }
    };

    private static final int CLASSES = 10;

    public abstract Model create();

    public abstract DataSet data(long seed);

    private static NeuralNetConfiguration.Builder builder(WeightInit weights) {
        return new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
                .weightInit(weights);
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }

    private static ConvolutionLayer.Builder convolution(int kernel, int out, Activation activation) {
        return new ConvolutionLayer.Builder(kernel, kernel).nOut(out).activation(activation);
    }

    private static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                .kernelSize(2, 2)
                .stride(2, 2)
                .build();
    }

    private static ActivationLayer relu() {
        return new ActivationLayer.Builder().activation(Activation.RELU).build();
    }

    private static DenseLayer dense(int out) {
        return new DenseLayer.Builder()
                .nOut(out)
                .activation(Activation.RELU)
                .dropOut(0.5)
                .build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static DataSet images(long seed, int batch, long... shape) {
        Random random = new Random(seed);
        int length = 1;
        for (long side : shape) {
            length *= (int) side;
        }
        INDArray labels = Nd4j.zeros(batch, CLASSES);
        for (int i = 0; i < batch; i++) {
            labels.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return new DataSet(uniform(random, length).reshape(shape), labels);
    }

    private static INDArray uniform(Random random, int length) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = random.nextFloat();
        }
        return Nd4j.createFromArray(values);
    }
}
