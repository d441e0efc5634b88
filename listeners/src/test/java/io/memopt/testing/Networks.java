// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.testing;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
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
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The model families that every claim is tested on, small enough for a test, and seeded data for them. */
public enum Networks {
    LENET {
        @Override
        public Model create(WorkspaceMode mode) {
            MultiLayerNetwork network = new MultiLayerNetwork(builder(mode)
                    .weightInit(WeightInit.XAVIER)
                    .list()
                    .layer(convolution(5, 20, Activation.RELU).name("conv1").build())
                    .layer(pooling().name("pool1").build())
                    .layer(convolution(5, 50, Activation.RELU).name("conv2").build())
                    .layer(pooling().name("pool2").build())
                    .layer(new DenseLayer.Builder()
                            .name("dense")
                            .nOut(100)
                            .activation(Activation.RELU)
                            .build())
                    .layer(output("out"))
                    .setInputType(InputType.convolutionalFlat(28, 28, 1))
                    .build());
            network.init();
            return network;
        }

        @Override
        public DataSet data(int batch, long seed) {
            return images(batch, seed, batch, 784);
        }
    },

    /** VGG-like, with batch normalisation and dropout. */
    VGG {
        @Override
        public Model create(WorkspaceMode mode) {
            NeuralNetConfiguration.ListBuilder list = builder(mode)
                    .weightInit(WeightInit.RELU)
                    .convolutionMode(ConvolutionMode.Same)
                    .list();
            for (int channels : new int[] {8, 8, 0, 16, 16, 0}) {
                if (channels == 0) {
                    list.layer(pooling().build());
                } else {
                    list.layer(convolution(3, channels, Activation.IDENTITY)
                            .hasBias(false)
                            .build());
                    list.layer(new BatchNormalization.Builder().build());
                    list.layer(new ActivationLayer.Builder()
                            .activation(Activation.RELU)
                            .build());
                }
            }
            list.layer(new DenseLayer.Builder()
                    .nOut(32)
                    .activation(Activation.RELU)
                    .dropOut(0.5)
                    .build());
            list.layer(output(null));
            MultiLayerNetwork network = new MultiLayerNetwork(
                    list.setInputType(InputType.convolutional(16, 16, 3)).build());
            network.init();
            return network;
        }

        @Override
        public DataSet data(int batch, long seed) {
            return images(batch, seed, batch, 3, 16, 16);
        }
    },

    LSTM_TEXT {
        @Override
        public Model create(WorkspaceMode mode) {
            MultiLayerNetwork network = new MultiLayerNetwork(builder(mode)
                    .weightInit(WeightInit.XAVIER)
                    .list()
                    .layer(new LSTM.Builder()
                            .name("lstm1")
                            .nOut(24)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new LSTM.Builder()
                            .name("lstm2")
                            .nOut(24)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                            .name("out")
                            .nOut(CLASSES)
                            .activation(Activation.SOFTMAX)
                            .build())
                    .setInputType(InputType.recurrent(8))
                    .build());
            network.init();
            return network;
        }

        @Override
        public DataSet data(int batch, long seed) {
            return sequences(batch, 6 + (int) (seed % 5), seed);
        }
    },

    RESIDUAL_GRAPH {
        @Override
        public Model create(WorkspaceMode mode) {
            ComputationGraph graph = new ComputationGraph(builder(mode)
                    .weightInit(WeightInit.RELU)
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.convolutional(16, 16, 3))
                    .addLayer("c1", convolution(3, 16, Activation.RELU).build(), "in")
                    .addLayer("c2", convolution(3, 16, Activation.IDENTITY).build(), "c1")
                    .addLayer("bn", new BatchNormalization.Builder().build(), "c2")
                    .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn", "c1")
                    .addLayer(
                            "relu",
                            new ActivationLayer.Builder()
                                    .activation(Activation.RELU)
                                    .build(),
                            "add")
                    .addLayer("gap", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), "relu")
                    .addLayer("out", output(null), "gap")
                    .setOutputs("out")
                    .build());
            graph.init();
            return graph;
        }

        @Override
        public DataSet data(int batch, long seed) {
            return images(batch, seed, batch, 3, 16, 16);
        }
    };

    public static final int CLASSES = 10;

    /** A new network with the same parameters every time. */
    public abstract Model create(WorkspaceMode mode);

    /** A batch for it; the same for the same seed. */
    public abstract DataSet data(int batch, long seed);

    /** One training iteration. */
    public static void fit(Model model, DataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(data);
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    /** Dense tanh, dense tanh, softmax: {@code mlp} of the user cases. */
    public static MultiLayerNetwork mlp(int in, int hidden, int out) {
        MultiLayerNetwork network = new MultiLayerNetwork(userCase()
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(in)
                        .nOut(hidden)
                        .activation(Activation.TANH)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(hidden)
                        .activation(Activation.TANH)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(out)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.feedForward(in))
                .build());
        network.init();
        return network;
    }

    /** LSTM tanh, identity with squared error: {@code lstm} of the user cases. */
    public static MultiLayerNetwork lstm(int in, int hidden, int out) {
        MultiLayerNetwork network = new MultiLayerNetwork(userCase()
                .list()
                .layer(new LSTM.Builder()
                        .nOut(hidden)
                        .activation(Activation.TANH)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(out)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.recurrent(in))
                .build());
        network.init();
        return network;
    }

    /** Two convolutions, a pooling, softmax over images {@code [3, side, side]}: {@code cnn} of the user cases. */
    public static MultiLayerNetwork cnn(int side, int kernel) {
        MultiLayerNetwork network = new MultiLayerNetwork(userCase()
                .list()
                .layer(convolution(kernel, 8, Activation.RELU).build())
                .layer(convolution(kernel, 8, Activation.RELU).build())
                .layer(pooling().build())
                .layer(output(null))
                .setInputType(InputType.convolutional(side, side, 3))
                .build());
        network.init();
        return network;
    }

    private static NeuralNetConfiguration.Builder userCase() {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.01))
                .weightInit(WeightInit.XAVIER);
    }

    /** A batch of {@code batch} sequences of {@code steps} steps: {@code [batch, 8, steps]} and labels. */
    public static DataSet sequences(int batch, int steps, long seed) {
        Random random = new Random(seed);
        float[] x = floats(random, batch * 8 * steps);
        float[] y = new float[batch * CLASSES * steps];
        for (int i = 0; i < batch; i++) {
            for (int t = 0; t < steps; t++) {
                y[i * CLASSES * steps + random.nextInt(CLASSES) * steps + t] = 1;
            }
        }
        return new DataSet(
                Nd4j.createFromArray(x).reshape(batch, 8, steps),
                Nd4j.createFromArray(y).reshape(batch, CLASSES, steps));
    }

    private static DataSet images(int batch, long seed, long... shape) {
        Random random = new Random(seed);
        int length = 1;
        for (long side : shape) {
            length *= (int) side;
        }
        float[] y = new float[batch * CLASSES];
        INDArray x = Nd4j.createFromArray(floats(random, length)).reshape(shape);
        for (int i = 0; i < batch; i++) {
            y[i * CLASSES + random.nextInt(CLASSES)] = 1;
        }
        return new DataSet(x, Nd4j.createFromArray(y).reshape(batch, CLASSES));
    }

    private static float[] floats(Random random, int length) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = random.nextFloat();
        }
        return values;
    }

    private static NeuralNetConfiguration.Builder builder(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
                .trainingWorkspaceMode(mode)
                .inferenceWorkspaceMode(mode);
    }

    private static ConvolutionLayer.Builder convolution(int kernel, int channels, Activation activation) {
        return new ConvolutionLayer.Builder(kernel, kernel).nOut(channels).activation(activation);
    }

    private static SubsamplingLayer.Builder pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                .kernelSize(2, 2)
                .stride(2, 2);
    }

    private static OutputLayer output(String name) {
        return new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                .name(name)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
