// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks that are to survive failures at any allocation. */
enum GuardedNetworks {
    LENET(Networks.LENET),
    /** Batch normalisation and dropout. */
    VGG(Networks.VGG),
    LSTM_LAYERS(Networks.LSTM_TEXT),
    RESIDUAL_GRAPH(Networks.RESIDUAL_GRAPH),

    /** Clipped gradients, weight decay, parameters that are brought into bounds after each update. */
    CONSTRAINED(null) {
        @Override
        Model create() {
            return init(new NeuralNetConfiguration.Builder()
                    .seed(5)
                    .updater(new Adam(0.05))
                    .l2(0.01)
                    .gradientNormalization(org.deeplearning4j.nn.conf.GradientNormalization.RenormalizeL2PerLayer)
                    .constrainWeights(new MaxNormConstraint(0.4, 1))
                    .list()
                    .layer(new DenseLayer.Builder()
                            .nOut(20)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new OutputLayer.Builder(LossFunction.MSE)
                            .nOut(3)
                            .activation(Activation.IDENTITY)
                            .build())
                    .setInputType(InputType.feedForward(9)));
        }

        @Override
        DataSet data(int iteration) {
            Nd4j.getRandom().setStates(7, 1000 + iteration);
            return new DataSet(Nd4j.rand(4, 9), Nd4j.rand(4, 3));
        }
    },

    /** State is carried from one segment of a sequence to the next. */
    TRUNCATED(null) {
        @Override
        Model create() {
            return init(new NeuralNetConfiguration.Builder()
                    .seed(5)
                    .updater(new Adam(0.01))
                    .list()
                    .layer(new LSTM.Builder()
                            .nOut(8)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                            .nOut(3)
                            .activation(Activation.IDENTITY)
                            .build())
                    .setInputType(InputType.recurrent(4))
                    .backpropType(BackpropType.TruncatedBPTT)
                    .tBPTTLength(3));
        }

        @Override
        DataSet data(int iteration) {
            Nd4j.getRandom().setStates(7, 1000 + iteration);
            return new DataSet(Nd4j.rand(2, 4, 6), Nd4j.rand(2, 3, 6));
        }
    };

    private static final int BATCH = 2;

    private final Networks network;

    GuardedNetworks(Networks network) {
        this.network = network;
    }

    Model create() {
        return network.create(WorkspaceMode.ENABLED);
    }

    DataSet data(int iteration) {
        return network.data(BATCH, iteration);
    }

    /** Data and its copy in the network's hands are made before anything can fail. */
    void fit(Model model, int iteration) {
        fit(model, data(iteration));
    }

    static void fit(Model model, DataSet data) {
        if (model instanceof MultiLayerNetwork layers) {
            layers.fit(data);
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork layers
                ? layers.getUpdater(true).getStateViewArray()
                : ((ComputationGraph) model).getUpdater(true).getStateViewArray();
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder list) {
        return init(list.build());
    }

    private static MultiLayerNetwork init(org.deeplearning4j.nn.conf.MultiLayerConfiguration.Builder builder) {
        return init(builder.build());
    }

    private static MultiLayerNetwork init(org.deeplearning4j.nn.conf.MultiLayerConfiguration configuration) {
        MultiLayerNetwork made = new MultiLayerNetwork(configuration);
        made.init();
        return made;
    }
}
