// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.util.Comparator;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Convolutions with noise on their weights, which is drawn anew for each pass, whatever a budget has them computed by. */
class WeightNoiseBudgetTest {
    private static final int SIDE = 12;
    private static final int BATCH = 12;
    private static final int DEPTH = 6;
    private static final int CLASSES = 4;

    enum Noisy {
        CHAIN {
            @Override
            Model create() {
                NeuralNetConfiguration.ListBuilder list = builder().list();
                for (int i = 0; i < DEPTH; i++) {
                    list.layer(convolution());
                }
                MultiLayerNetwork network = new MultiLayerNetwork(list.layer(new GlobalPoolingLayer(PoolingType.AVG))
                        .layer(output())
                        .setInputType(InputType.convolutional(SIDE, SIDE, 8))
                        .build());
                network.init();
                return network;
            }
        },

        /** Each convolution's input is added to its output. */
        RESIDUAL_GRAPH {
            @Override
            Model create() {
                var graph =
                        builder().graphBuilder().addInputs("in").setInputTypes(InputType.convolutional(SIDE, SIDE, 8));
                String from = "in";
                for (int i = 0; i < DEPTH; i++) {
                    graph.addLayer("convolution" + i, convolution(), from);
                    graph.addVertex(
                            "add" + i, new ElementWiseVertex(ElementWiseVertex.Op.Add), "convolution" + i, from);
                    from = "add" + i;
                }
                ComputationGraph network =
                        new ComputationGraph(graph.addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), from)
                                .addLayer("out", output(), "pool")
                                .setOutputs("out")
                                .build());
                network.init();
                return network;
            }
        };

        abstract Model create();
    }

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @ParameterizedTest
    @EnumSource
    void leastBudget_isMetByCheckpoints_andChangesNoBit(Noisy each) {
        long least = leastBytes(each);

        BudgetReport report = train(each, least);

        assertThat(report.chosen().cuts()).isNotEmpty();
        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(least);
        requireBitwise(each, least);
    }

    @ParameterizedTest
    @EnumSource
    void leastBudgetOfPlannedWorkspaces_isMetByThem_andChangesNoBit(Noisy each) {
        long bytes = train(each, leastBytes(each)).front().stream()
                .filter(row -> row.reuse() == Reuse.PLANNED && row.cuts().isEmpty())
                .min(Comparator.comparingLong(BudgetRow::peakBytes))
                .orElseThrow()
                .peakBytes();

        BudgetReport report = train(each, bytes);

        assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
        assertThat(report.chosen().cuts()).isEmpty();
        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(bytes);
        requireBitwise(each, bytes);
    }

    private static void requireBitwise(Noisy each, long bytes) {
        TwinRun.of(each::create, WeightNoiseBudgetTest::data)
                .iterations(4)
                .compare(model -> MemOpt.attach(model, budget(bytes)))
                .requireBitwise();
    }

    private static long leastBytes(Noisy each) {
        Model model = each.create();
        try (MemOpt memopt = MemOpt.attach(model, budget(1024))) {
            return catchThrowableOfType(BudgetException.class, () -> Networks.fit(model, data(0)))
                    .leastBytes();
        }
    }

    private static BudgetReport train(Noisy each, long bytes) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = each.create();
        DataSet data = data(0);
        try (MemOpt memopt = MemOpt.attach(model, budget(bytes))) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, data);
            }
            return memopt.budget().orElseThrow();
        }
    }

    private static MemOptConfig budget(long bytes) {
        return MemOptConfig.builder().budget(bytes + " B").build();
    }

    private static DataSet data(int iteration) {
        Random random = new Random(iteration);
        float[] features = new float[BATCH * 8 * SIDE * SIDE];
        for (int i = 0; i < features.length; i++) {
            features[i] = random.nextFloat() - 0.5f;
        }
        INDArray labels = Nd4j.zeros(BATCH, CLASSES);
        for (int i = 0; i < BATCH; i++) {
            labels.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return new DataSet(Nd4j.createFromArray(features).reshape(BATCH, 8, SIDE, SIDE), labels);
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(11)
                .updater(new Adam(1e-3))
                .weightNoise(new DropConnect(0.9))
                .convolutionMode(ConvolutionMode.Same);
    }

    private static ConvolutionLayer convolution() {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(8)
                .activation(Activation.TANH)
                .build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
