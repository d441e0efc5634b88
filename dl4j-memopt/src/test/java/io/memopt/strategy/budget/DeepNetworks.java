// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Deep networks of dense layers {@code width} wide, with dropout in the middle, clipped gradients and decay of weights. */
enum DeepNetworks {
    CHAIN {
        @Override
        Model create(int width) {
            NeuralNetConfiguration.ListBuilder list = builder().list();
            for (int i = 0; i < DEPTH; i++) {
                list.layer(dense(width, i));
            }
            MultiLayerNetwork network =
                    new MultiLayerNetwork(list.layer(output(width)).build());
            network.init();
            return network;
        }
    },

    /** Each second layer's input is added to its output. */
    RESIDUAL_GRAPH {
        @Override
        Model create(int width) {
            GraphBuilder graph = builder().graphBuilder().addInputs("in");
            String from = "in";
            for (int i = 0; i < DEPTH; i += 2) {
                graph.addLayer("one" + i, dense(width, i), from);
                graph.addLayer("two" + i, dense(width, i + 1), "one" + i);
                graph.addVertex("add" + i, new ElementWiseVertex(ElementWiseVertex.Op.Add), "two" + i, from);
                from = "add" + i;
            }
            ComputationGraph network = new ComputationGraph(
                    graph.addLayer("out", output(width), from).setOutputs("out").build());
            network.init();
            return network;
        }
    };

    private static final int DEPTH = 10;
    private static final int CLASSES = 4;

    abstract Model create(int width);

    /** The same minibatch for the same seed. */
    static DataSet data(int batch, int width, long seed) {
        Random random = new Random(seed);
        float[] features = new float[batch * width];
        float[] labels = new float[batch * CLASSES];
        for (int i = 0; i < features.length; i++) {
            features[i] = random.nextFloat();
        }
        for (int i = 0; i < batch; i++) {
            labels[i * CLASSES + random.nextInt(CLASSES)] = 1;
        }
        INDArray inputs = Nd4j.createFromArray(features).reshape(batch, width);
        return new DataSet(inputs, Nd4j.createFromArray(labels).reshape(batch, CLASSES));
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(11)
                .updater(new Adam(1e-3))
                .l2(1e-3)
                .gradientNormalization(GradientNormalization.ClipL2PerLayer)
                .gradientNormalizationThreshold(0.5)
                .weightInit(WeightInit.XAVIER);
    }

    private static DenseLayer dense(int width, int index) {
        return new DenseLayer.Builder()
                .nIn(width)
                .nOut(width)
                .activation(Activation.TANH)
                .dropOut(index == DEPTH / 2 ? 0.8 : 0)
                .build();
    }

    private static OutputLayer output(int width) {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nIn(width)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
