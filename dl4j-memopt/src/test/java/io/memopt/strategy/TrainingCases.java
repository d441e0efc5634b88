// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.testing.Networks;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.zoo.model.ResNet50;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Trainings that must not change by a bit: a network that is the same each time, and the minibatch of each iteration. */
enum TrainingCases {
    LENET {
        @Override
        Model create() {
            return Networks.LENET.create(WorkspaceMode.ENABLED);
        }

        @Override
        MultiDataSet data(int iteration) {
            return multi(Networks.LENET.data(4, iteration));
        }
    },

    /** Batch normalisation and dropout. */
    VGG {
        @Override
        Model create() {
            return Networks.VGG.create(WorkspaceMode.ENABLED);
        }

        @Override
        MultiDataSet data(int iteration) {
            return multi(Networks.VGG.data(4, iteration));
        }
    },

    /** Sequences of 6 to 10 steps. */
    LSTM_LENGTHS {
        @Override
        Model create() {
            return Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        }

        @Override
        MultiDataSet data(int iteration) {
            return multi(Networks.LSTM_TEXT.data(4, iteration));
        }
    },

    RESIDUAL_GRAPH {
        @Override
        Model create() {
            return Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        }

        @Override
        MultiDataSet data(int iteration) {
            return multi(Networks.RESIDUAL_GRAPH.data(4, iteration));
        }
    },

    /** Truncated backpropagation through time: segments of 5, 5 and 2 steps. */
    TBPTT {
        @Override
        Model create() {
            return init(builder()
                    .list()
                    .layer(lstm())
                    .layer(lstm())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                            .nOut(Networks.CLASSES)
                            .activation(Activation.SOFTMAX)
                            .build())
                    .backpropType(BackpropType.TruncatedBPTT)
                    .tBPTTLength(5)
                    .setInputType(InputType.recurrent(8)));
        }

        @Override
        MultiDataSet data(int iteration) {
            return multi(Networks.sequences(4, 12, iteration));
        }
    },

    BIDIRECTIONAL {
        @Override
        Model create() {
            return init(builder()
                    .list()
                    .layer(new Bidirectional(Bidirectional.Mode.CONCAT, lstm()))
                    .layer(new GlobalPoolingLayer.Builder(PoolingType.AVG).build())
                    .layer(output())
                    .setInputType(InputType.recurrent(8)));
        }

        @Override
        MultiDataSet data(int iteration) {
            DataSet sequences = Networks.sequences(4, 7, iteration);
            return new MultiDataSet(sequences.getFeatures(), classes(4, iteration));
        }
    },

    /** Word numbers with a mask over sequences of 3 to 7 words. */
    EMBEDDING_MASKED {
        @Override
        Model create() {
            return init(builder()
                    .list()
                    .layer(new EmbeddingSequenceLayer.Builder()
                            .nIn(50)
                            .nOut(8)
                            .inputLength(7)
                            .build())
                    .layer(new LSTM.Builder()
                            .nIn(8)
                            .nOut(12)
                            .activation(Activation.TANH)
                            .build())
                    .layer(new GlobalPoolingLayer.Builder(PoolingType.MAX).build())
                    .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                            .nIn(12)
                            .nOut(Networks.CLASSES)
                            .activation(Activation.SOFTMAX)
                            .build()));
        }

        @Override
        MultiDataSet data(int iteration) {
            Random random = new Random(iteration);
            float[] words = new float[4 * 7];
            float[] mask = new float[4 * 7];
            for (int i = 0; i < words.length; i++) {
                words[i] = random.nextInt(50);
                mask[i] = i % 7 < 3 + (i / 7 + iteration) % 5 ? 1 : 0;
            }
            return new MultiDataSet(
                    new INDArray[] {Nd4j.createFromArray(words).reshape(4, 7)},
                    new INDArray[] {classes(4, iteration)},
                    new INDArray[] {Nd4j.createFromArray(mask).reshape(4, 7)},
                    null);
        }
    },

    /** Two inputs, merged, a frozen layer, two outputs of which one sees half of the activations. */
    MULTI_OUTPUT_FROZEN {
        @Override
        Model create() {
            ComputationGraph graph = new ComputationGraph(builder()
                    .graphBuilder()
                    .addInputs("a", "b")
                    .addLayer("frozen", new FrozenLayer(dense(12)), "a")
                    .addLayer("trained", dense(12), "b")
                    .addVertex("merge", new MergeVertex(), "frozen", "trained")
                    .addLayer("both", dense(16), "merge")
                    .addVertex("half", new SubsetVertex(0, 7), "both")
                    .addLayer("out1", output(), "both")
                    .addLayer("out2", output(), "half")
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
                    new INDArray[] {uniform(random, 4, 6), uniform(random, 4, 9)},
                    new INDArray[] {classes(4, iteration), classes(4, iteration + 1)});
        }
    },

    /** Batch 2 of {@code [3, 96, 96]}; its zoo configuration is seeded, its parameters are made equal by hand. */
    ZOO_RESNET50 {
        @Override
        Model create() {
            ComputationGraph graph = ResNet50.builder()
                    .seed(123)
                    .numClasses(Networks.CLASSES)
                    .inputShape(new int[] {3, 96, 96})
                    .build()
                    .init();
            Random random = new Random(5);
            INDArray params = graph.params();
            float[] values = new float[(int) params.length()];
            for (int i = 0; i < values.length; i++) {
                values[i] = 0.02f * (float) random.nextGaussian();
            }
            params.assign(Nd4j.createFromArray(values).reshape(params.shape()));
            return graph;
        }

        @Override
        MultiDataSet data(int iteration) {
            Random random = new Random(iteration);
            return new MultiDataSet(uniform(random, 2, 3 * 96 * 96).reshape(2, 3, 96, 96), classes(2, iteration));
        }
    };

    /** A new network with the same parameters every time. */
    abstract Model create();

    /** The minibatch of an iteration; made anew. */
    abstract MultiDataSet data(int iteration);

    static void fit(Model model, MultiDataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(single(data));
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    /** The minibatch of a network with one input and one output. */
    static DataSet single(MultiDataSet data) {
        return new DataSet(
                data.getFeatures(0),
                data.getLabels(0),
                data.hasMaskArrays() ? data.getFeaturesMaskArray(0) : null,
                null);
    }

    private static MultiDataSet multi(DataSet data) {
        return new MultiDataSet(data.getFeatures(), data.getLabels());
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
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
        return new DenseLayer.Builder()
                .nOut(out)
                .activation(Activation.TANH)
                .dropOut(0.8)
                .build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(Networks.CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static INDArray classes(int batch, int seed) {
        float[] labels = new float[batch * Networks.CLASSES];
        Random random = new Random(seed);
        for (int i = 0; i < batch; i++) {
            labels[i * Networks.CLASSES + random.nextInt(Networks.CLASSES)] = 1;
        }
        return Nd4j.createFromArray(labels).reshape(batch, Networks.CLASSES);
    }

    private static INDArray uniform(Random random, int rows, int columns) {
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat();
        }
        return Nd4j.createFromArray(values).reshape(rows, columns);
    }
}
