// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.testing.Networks;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks whose examples do not depend on each other, with minibatches of ten. */
enum StepNetworks {
    LENET {
        @Override
        Model create() {
            return Networks.LENET.create(WorkspaceMode.ENABLED);
        }

        @Override
        MultiDataSet data(int iteration) {
            DataSet data = Networks.LENET.data(BATCH, iteration);
            return new MultiDataSet(data.getFeatures(), data.getLabels());
        }
    },

    /** Sequences of 3 to 9 steps with masks of features and labels, weight decay, clipped gradients. */
    LSTM_MASKED {
        @Override
        Model create() {
            return init(builder()
                    .l2(0.01)
                    .gradientNormalization(GradientNormalization.ClipL2PerLayer)
                    .gradientNormalizationThreshold(0.5)
                    .list()
                    .layer(lstm())
                    .layer(lstm())
                    .layer(rnnOutput())
                    .setInputType(InputType.recurrent(8)));
        }

        @Override
        MultiDataSet data(int iteration) {
            return masked(iteration);
        }
    },

    /** One label for each sequence; the mask of features ends in the pooling. */
    BIDIRECTIONAL_POOLED {
        @Override
        Model create() {
            return init(builder()
                    .l1(0.001)
                    .list()
                    .layer(new Bidirectional(Bidirectional.Mode.CONCAT, lstm()))
                    .layer(new GlobalPoolingLayer.Builder(PoolingType.AVG).build())
                    .layer(output())
                    .setInputType(InputType.recurrent(8)));
        }

        @Override
        MultiDataSet data(int iteration) {
            MultiDataSet data = masked(iteration);
            return new MultiDataSet(
                    data.getFeatures(), new INDArray[] {classes(iteration)}, data.getFeaturesMaskArrays(), null);
        }
    },

    /** Two inputs, a sum of two branches, a frozen layer, two outputs. */
    GRAPH {
        @Override
        Model create() {
            ComputationGraph graph = new ComputationGraph(builder()
                    .l2(0.01)
                    .graphBuilder()
                    .addInputs("a", "b")
                    .addLayer("frozen", new FrozenLayer(dense(12)), "a")
                    .addLayer("one", dense(12), "frozen")
                    .addLayer("two", dense(12), "b")
                    .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "one", "two")
                    .addVertex("both", new MergeVertex(), "sum", "two")
                    .addLayer("out1", output(), "both")
                    .addLayer("out2", output(), "sum")
                    .setOutputs("out1", "out2")
                    .setInputTypes(InputType.feedForward(6), InputType.feedForward(9))
                    .build());
            graph.init();
            return graph;
        }

        @Override
        MultiDataSet data(int iteration) {
            Random random = new Random(iteration);
            return new MultiDataSet(
                    new INDArray[] {uniform(random, BATCH, 6), uniform(random, BATCH, 9)},
                    new INDArray[] {classes(iteration), classes(iteration + 1)});
        }
    },

    /** Masked sequences in a graph. */
    GRAPH_MASKED {
        @Override
        Model create() {
            ComputationGraph graph = new ComputationGraph(builder()
                    .graphBuilder()
                    .addInputs("in")
                    .addLayer("lstm", lstm(), "in")
                    .addLayer("out", rnnOutput(), "lstm")
                    .setOutputs("out")
                    .setInputTypes(InputType.recurrent(8))
                    .build());
            graph.init();
            return graph;
        }

        @Override
        MultiDataSet data(int iteration) {
            return masked(iteration);
        }
    },

    /** The loss is a sum over examples, and the updater does not divide. */
    NO_MINIBATCH {
        @Override
        Model create() {
            return init(builder()
                    .updater(new Sgd(0.005))
                    .l2(0.01)
                    .miniBatch(false)
                    .list()
                    .layer(dense(16))
                    .layer(output())
                    .setInputType(InputType.feedForward(9)));
        }

        @Override
        MultiDataSet data(int iteration) {
            return new MultiDataSet(uniform(new Random(iteration), BATCH, 9), classes(iteration));
        }
    },

    /** Dropout that works in place, weight noise, frozen layers below. */
    NOISY {
        @Override
        Model create() {
            return init(builder()
                    .list()
                    .layer(new FrozenLayer(dense(24)))
                    .layer(dense(24))
                    .layer(new DenseLayer.Builder()
                            .nOut(24)
                            .activation(Activation.TANH)
                            .weightNoise(new DropConnect(0.7))
                            .build())
                    .layer(new DenseLayer.Builder()
                            .nOut(24)
                            .activation(Activation.TANH)
                            .dropOut(0.6)
                            .build())
                    .layer(dense(24))
                    .layer(new DenseLayer.Builder()
                            .nOut(24)
                            .activation(Activation.TANH)
                            .dropOut(0.6)
                            .weightNoise(new DropConnect(0.7))
                            .build())
                    .layer(dense(24))
                    .layer(output())
                    .setInputType(InputType.feedForward(9)));
        }

        @Override
        MultiDataSet data(int iteration) {
            return new MultiDataSet(uniform(new Random(iteration), BATCH, 9), classes(iteration));
        }
    };

    static final int BATCH = 10;

    private static final int LONGEST = 9;

    abstract Model create();

    abstract MultiDataSet data(int iteration);

    static void fit(Model model, MultiDataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(
                    data.getFeatures(0),
                    data.getLabels(0),
                    data.getFeaturesMaskArrays() == null ? null : data.getFeaturesMaskArray(0),
                    data.getLabelsMaskArrays() == null ? null : data.getLabelsMaskArray(0));
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    private static MultiDataSet masked(int iteration) {
        Random random = new Random(iteration);
        float[] mask = new float[BATCH * LONGEST];
        float[] labels = new float[BATCH * Networks.CLASSES * LONGEST];
        for (int i = 0; i < BATCH; i++) {
            int length = 3 + random.nextInt(LONGEST - 2);
            for (int t = 0; t < LONGEST; t++) {
                mask[i * LONGEST + t] = t < length ? 1 : 0;
                labels[(i * Networks.CLASSES + random.nextInt(Networks.CLASSES)) * LONGEST + t] = 1;
            }
        }
        INDArray masks = Nd4j.createFromArray(mask).reshape(BATCH, LONGEST);
        return new MultiDataSet(
                new INDArray[] {uniform(random, BATCH, 8 * LONGEST).reshape(BATCH, 8, LONGEST)},
                new INDArray[] {Nd4j.createFromArray(labels).reshape(BATCH, Networks.CLASSES, LONGEST)},
                new INDArray[] {masks},
                new INDArray[] {masks.dup()});
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Sgd(0.1))
                .weightInit(WeightInit.XAVIER);
    }

    private static MultiLayerNetwork init(MultiLayerConfiguration.Builder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }

    private static LSTM lstm() {
        return new LSTM.Builder().nOut(12).activation(Activation.TANH).build();
    }

    private static DenseLayer dense(int out) {
        return new DenseLayer.Builder().nOut(out).activation(Activation.TANH).build();
    }

    private static RnnOutputLayer rnnOutput() {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT)
                .nOut(Networks.CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(Networks.CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static INDArray classes(int seed) {
        float[] labels = new float[BATCH * Networks.CLASSES];
        Random random = new Random(seed);
        for (int i = 0; i < BATCH; i++) {
            labels[i * Networks.CLASSES + random.nextInt(Networks.CLASSES)] = 1;
        }
        return Nd4j.createFromArray(labels).reshape(BATCH, Networks.CLASSES);
    }

    private static INDArray uniform(Random random, int rows, int columns) {
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat();
        }
        return Nd4j.createFromArray(values).reshape(rows, columns);
    }
}
