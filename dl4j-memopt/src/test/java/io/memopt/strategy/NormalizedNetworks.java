// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Every way in which a batch normalisation stands in a network, each as small as can be. */
enum NormalizedNetworks {
    IMAGES {
        @Override
        Model create(WorkspaceMode mode) {
            return images(mode, CNN2DFormat.NCHW, normalization().build());
        }
    },
    IMAGES_CHANNELS_LAST {
        @Override
        Model create(WorkspaceMode mode) {
            return images(mode, CNN2DFormat.NHWC, normalization().build());
        }

        @Override
        DataSet data(int batch, long seed) {
            DataSet data = super.data(batch, seed);
            return new DataSet(data.getFeatures().permute(0, 2, 3, 1).dup('c'), data.getLabels());
        }
    },
    /** Gamma and beta locked at one and zero: without a workspace the normalised input is the output. */
    LOCKED {
        @Override
        Model create(WorkspaceMode mode) {
            return images(
                    mode, CNN2DFormat.NCHW, normalization().lockGammaBeta(true).build());
        }
    },
    /** The standard deviation kept as its logarithm. */
    LOG_STD {
        @Override
        Model create(WorkspaceMode mode) {
            return images(
                    mode, CNN2DFormat.NCHW, normalization().useLogStd(true).build());
        }
    },
    /** The first normalisation works as in inference and has no backward pass. */
    FROZEN {
        @Override
        Model create(WorkspaceMode mode) {
            return images(
                    mode, CNN2DFormat.NCHW, new FrozenLayer(normalization().build()));
        }
    },
    DENSE {
        @Override
        Model create(WorkspaceMode mode) {
            return initialised(new MultiLayerNetwork(builder(mode)
                    .list()
                    .layer(dense())
                    .layer(normalization().build())
                    .layer(normalization().build())
                    .layer(output())
                    .setInputType(InputType.feedForward(48))
                    .build()));
        }

        @Override
        DataSet data(int batch, long seed) {
            DataSet data = super.data(batch, seed);
            return new DataSet(data.getFeatures().reshape(batch, 48), data.getLabels());
        }
    },
    /** Two normalisations read one vertex, their sum goes on. */
    GRAPH {
        @Override
        Model create(WorkspaceMode mode) {
            ComputationGraph graph = new ComputationGraph(builder(mode)
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.convolutional(4, 4, 3))
                    .addLayer("c", convolution(), "in")
                    .addLayer("bn1", normalization().build(), "c")
                    .addLayer("bn2", normalization().build(), "c")
                    .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn1", "bn2")
                    .addLayer("gap", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), "add")
                    .addLayer("out", output(), "gap")
                    .setOutputs("out")
                    .build());
            graph.init();
            return graph;
        }
    };

    static final int CLASSES = 3;

    abstract Model create(WorkspaceMode mode);

    /** Images {@code [batch, 3, 4, 4]}, or what the network takes instead, and labels; the same for the same seed. */
    DataSet data(int batch, long seed) {
        Random random = new Random(seed);
        float[] x = new float[batch * 48];
        float[] y = new float[batch * CLASSES];
        for (int i = 0; i < x.length; i++) {
            x[i] = random.nextFloat();
        }
        for (int i = 0; i < batch; i++) {
            y[i * CLASSES + random.nextInt(CLASSES)] = 1;
        }
        INDArray features = Nd4j.createFromArray(x).reshape(batch, 3, 4, 4);
        return new DataSet(features, Nd4j.createFromArray(y).reshape(batch, CLASSES));
    }

    /** Takes what {@link #IMAGES} takes; without a loss, so that errors come from outside: {@code [batch, 3]}. */
    static MultiLayerNetwork withoutLoss(WorkspaceMode mode) {
        return initialised(new MultiLayerNetwork(builder(mode)
                .list()
                .layer(convolution())
                .layer(normalization().build())
                .layer(new DenseLayer.Builder()
                        .nOut(CLASSES)
                        .activation(Activation.TANH)
                        .build())
                .layer(normalization().build())
                .setInputType(InputType.convolutional(4, 4, 3))
                .build()));
    }

    private static MultiLayerNetwork images(WorkspaceMode mode, CNN2DFormat format, Layer first) {
        return initialised(new MultiLayerNetwork(builder(mode)
                .list()
                .layer(convolution())
                .layer(first)
                .layer(convolution())
                .layer(normalization().build())
                .layer(dense())
                .layer(output())
                .setInputType(InputType.convolutional(4, 4, 3, format))
                .build()));
    }

    private static MultiLayerNetwork initialised(MultiLayerNetwork network) {
        network.init();
        return network;
    }

    private static NeuralNetConfiguration.Builder builder(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(1e-2))
                .convolutionMode(ConvolutionMode.Same)
                .trainingWorkspaceMode(mode)
                .inferenceWorkspaceMode(mode);
    }

    private static BatchNormalization.Builder normalization() {
        return new BatchNormalization.Builder().useLogStd(false);
    }

    private static ConvolutionLayer convolution() {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(4)
                .activation(Activation.RELU)
                .build();
    }

    private static DenseLayer dense() {
        return new DenseLayer.Builder().nOut(8).activation(Activation.TANH).build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
