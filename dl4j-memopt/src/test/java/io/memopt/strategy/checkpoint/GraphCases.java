// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.Random;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Graphs whose parts depend on each other in other ways than a chain's, and minibatches for them. */
enum GraphCases {
    /** Convolutions, batch normalisation, pooling; skips over one and over several vertices, a merge at the end. */
    RESIDUAL {
        @Override
        ComputationGraph create() {
            return init(builder()
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.convolutional(8, 8, 3))
                    .addLayer("c1", convolution(6), "in")
                    .addLayer("bn1", new BatchNormalization(), "c1")
                    .addLayer("r1", relu(), "bn1")
                    .addLayer("c2", convolution(6), "r1")
                    .addLayer("bn2", new BatchNormalization(), "c2")
                    .addVertex("add1", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn2", "r1")
                    .addLayer("r2", relu(), "add1")
                    .addLayer("c3", convolution(6), "r2")
                    .addVertex("add2", new ElementWiseVertex(ElementWiseVertex.Op.Add), "c3", "r2", "c1")
                    .addLayer(
                            "pool",
                            new SubsamplingLayer.Builder(2, 2).stride(2, 2).build(),
                            "add2")
                    .addLayer(
                            "dense",
                            new DenseLayer.Builder()
                                    .nOut(9)
                                    .activation(Activation.RELU)
                                    .build(),
                            "pool")
                    .addVertex("scale", new ScaleVertex(0.5), "dense")
                    .addVertex("merge", new MergeVertex(), "dense", "scale")
                    .addLayer("out", output(), "merge")
                    .setOutputs("out"));
        }

        @Override
        MultiDataSet data(long seed) {
            return new MultiDataSet(uniform(seed, BATCH, 3, 8, 8), classes(seed, BATCH));
        }
    },

    /** Two inputs, dropout on what others use too, weight noise, l2, an output in the middle. */
    RANDOM_AND_AUXILIARY {
        @Override
        ComputationGraph create() {
            return init(builder()
                    .l2(0.01)
                    .graphBuilder()
                    .addInputs("a", "b")
                    .setInputTypes(InputType.feedForward(6), InputType.feedForward(9))
                    .addLayer("da", dense(12, 0.8), "a")
                    .addLayer("db", dense(12, 0), "b")
                    .addVertex("product", new ElementWiseVertex(ElementWiseVertex.Op.Product), "da", "db")
                    .addLayer("auxiliary", output(), "product")
                    .addLayer("shared", noisy(12), "product")
                    .addLayer("dropped", new DropoutLayer.Builder(0.7).build(), "shared")
                    .addLayer("left", dense(12, 0), "shared")
                    .addLayer("right", dense(12, 0.6), "dropped")
                    .addVertex("mean", new ElementWiseVertex(ElementWiseVertex.Op.Average), "left", "right", "da")
                    .addVertex("some", new SubsetVertex(2, 9), "mean")
                    .addLayer("last", dense(8, 0.9), "some")
                    .addVertex("max", new ElementWiseVertex(ElementWiseVertex.Op.Max), "last", "some")
                    .addLayer("out", output(), "max")
                    .setOutputs("out", "auxiliary"));
        }

        @Override
        MultiDataSet data(long seed) {
            return new MultiDataSet(
                    new INDArray[] {uniform(seed, BATCH, 6), uniform(seed + 1, BATCH, 9)},
                    new INDArray[] {classes(seed, BATCH), classes(seed + 1, BATCH)});
        }
    },

    /** Recurrent layers with masks, vertices over time. */
    SEQUENCES {
        @Override
        ComputationGraph create() {
            return init(builder()
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.recurrent(5))
                    .addLayer(
                            "l1",
                            new LSTM.Builder()
                                    .nOut(7)
                                    .activation(Activation.TANH)
                                    .build(),
                            "in")
                    .addVertex("reverse", new ReverseTimeSeriesVertex("in"), "l1")
                    .addLayer(
                            "l2",
                            new LSTM.Builder()
                                    .nOut(7)
                                    .activation(Activation.TANH)
                                    .build(),
                            "reverse")
                    .addVertex("step", new LastTimeStepVertex("in"), "l2")
                    .addLayer("dense", dense(6, 0), "step")
                    .addVertex("again", new DuplicateToTimeSeriesVertex("in"), "dense")
                    .addVertex("merge", new MergeVertex(), "again", "l1")
                    .addLayer(
                            "out",
                            new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                    .nOut(CLASSES)
                                    .activation(Activation.SOFTMAX)
                                    .build(),
                            "merge")
                    .setOutputs("out"));
        }

        @Override
        MultiDataSet data(long seed) {
            int steps = 5;
            INDArray labels = Nd4j.zeros(BATCH, CLASSES, steps);
            INDArray mask = Nd4j.zeros(BATCH, steps);
            Random random = new Random(seed);
            for (int i = 0; i < BATCH; i++) {
                int length = 2 + random.nextInt(steps - 1);
                for (int t = 0; t < length; t++) {
                    mask.putScalar(i, t, 1);
                    labels.putScalar(new int[] {i, random.nextInt(CLASSES), t}, 1);
                }
            }
            return new MultiDataSet(
                    new INDArray[] {uniform(seed, BATCH, 5, steps)},
                    new INDArray[] {labels},
                    new INDArray[] {mask},
                    new INDArray[] {mask.dup()});
        }
    },

    /** Two inputs through the same layers, their distance beside them; what is frozen comes first. */
    SIAMESE_FROZEN {
        @Override
        ComputationGraph create() {
            return init(builder()
                    .graphBuilder()
                    .addInputs("a", "b")
                    .setInputTypes(InputType.feedForward(6), InputType.feedForward(6))
                    .addVertex("stack", new StackVertex(), "a", "b")
                    .addLayer("frozen1", new FrozenLayer(dense(8, 0)), "stack")
                    .addLayer("frozen2", new FrozenLayer(dense(8, 0)), "frozen1")
                    .addLayer("trained", dense(8, 0.9), "frozen2")
                    .addVertex("first", new UnstackVertex(0, 2), "trained")
                    .addVertex("second", new UnstackVertex(1, 2), "trained")
                    .addVertex("distance", new L2Vertex(), "first", "second")
                    .addVertex("merge", new MergeVertex(), "distance", "first")
                    .addLayer("out", output(), "merge")
                    .setOutputs("out"));
        }

        @Override
        MultiDataSet data(long seed) {
            return new MultiDataSet(
                    new INDArray[] {uniform(seed, BATCH, 6), uniform(seed + 1, BATCH, 6)},
                    new INDArray[] {classes(seed, BATCH)});
        }
    };

    private static final int BATCH = 4;
    private static final int CLASSES = 5;

    /** A new graph with the same parameters every time. */
    abstract ComputationGraph create();

    abstract MultiDataSet data(long seed);

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder().seed(123).updater(new Adam(1e-3));
    }

    private static ComputationGraph init(
            org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder builder) {
        ComputationGraph graph = new ComputationGraph(builder.build());
        graph.init();
        return graph;
    }

    private static ConvolutionLayer convolution(int out) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(out)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static ActivationLayer relu() {
        return new ActivationLayer.Builder().activation(Activation.RELU).build();
    }

    /** {@code retain}: share of inputs that dropout lets through, 0 for none of it. */
    private static DenseLayer dense(int out, double retain) {
        return new DenseLayer.Builder()
                .nOut(out)
                .activation(Activation.TANH)
                .dropOut(retain)
                .build();
    }

    private static DenseLayer noisy(int out) {
        return new DenseLayer.Builder()
                .nOut(out)
                .activation(Activation.TANH)
                .weightNoise(new DropConnect(0.8))
                .build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static INDArray classes(long seed, int batch) {
        Random random = new Random(seed);
        INDArray labels = Nd4j.zeros(batch, CLASSES);
        for (int i = 0; i < batch; i++) {
            labels.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return labels;
    }

    private static INDArray uniform(long seed, long... shape) {
        Random random = new Random(seed);
        INDArray array = Nd4j.create(shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextFloat());
        }
        return array;
    }
}
