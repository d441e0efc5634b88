// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.verify.TwinRun;
import java.util.Random;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Recurrent layers leave hardly anything to the Java collector that a budget does not know. */
class RecurrentBudgetTest {
    private static final int ITERATIONS = 8;
    private static final int BATCH = 16;
    private static final int STEPS = 30;
    private static final int INPUTS = 10;
    /** Less than one pass left to the collector before. */
    private static final int SLACK = 100;

    enum Kind {
        LAYERS {
            @Override
            Model create() {
                MultiLayerNetwork network = new MultiLayerNetwork(builder()
                        .list()
                        .layer(bidirectional())
                        .layer(new GlobalPoolingLayer(PoolingType.MAX))
                        .layer(new OutputLayer.Builder().nOut(5).build())
                        .setInputType(InputType.recurrent(INPUTS))
                        .build());
                network.init();
                return network;
            }
        },
        GRAPH {
            @Override
            Model create() {
                ComputationGraph graph = new ComputationGraph(builder()
                        .graphBuilder()
                        .addInputs("in")
                        .addLayer("both", bidirectional(), "in")
                        .addLayer("pool", new GlobalPoolingLayer(PoolingType.MAX), "both")
                        .addLayer("out", new OutputLayer.Builder().nOut(5).build(), "pool")
                        .setOutputs("out")
                        .setInputTypes(InputType.recurrent(INPUTS))
                        .build());
                graph.init();
                return graph;
            }
        };

        abstract Model create();
    }

    @BeforeEach
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void bidirectional_holdsItsLeast_bitForBit(Kind kind) {
        DataSet minibatch = new DataSet(uniform(BATCH, INPUTS, STEPS), uniform(BATCH, 5));
        long least = least(kind.create(), minibatch, Exactness.BITWISE);

        assertActualWithin(kind.create(), minibatch, least, Exactness.BITWISE);
        uninstall();
        TwinRun.of(kind::create, i -> minibatch)
                .iterations(ITERATIONS)
                .compare(model -> MemOpt.attach(model, budget(least, Exactness.BITWISE)))
                .requireBitwise();
    }

    @Test
    void masksOfParts_holdTheLeast() {
        INDArray mask = Nd4j.ones(DataType.FLOAT, BATCH, STEPS);
        IntStream.range(STEPS / 2, STEPS).forEach(step -> mask.putScalar(1, step, 0));
        DataSet minibatch = new DataSet(uniform(BATCH, INPUTS, STEPS), uniform(BATCH, 6, STEPS), mask, mask.dup());
        long least = least(masked(), minibatch, Exactness.REORDERED);

        assertActualWithin(masked(), minibatch, least, Exactness.REORDERED);
    }

    private static void assertActualWithin(Model model, DataSet minibatch, long bytes, Exactness loosest) {
        try (MemOpt memopt = MemOpt.attach(model, budget(bytes, loosest))) {
            for (int i = 0; i < ITERATIONS; i++) {
                fit(model, minibatch);
            }
            assertThat(memopt.budget().orElseThrow().actualPeakBytes().orElseThrow())
                    .isBetween(bytes / 2, bytes);
        }
    }

    /** With one part in {@value #SLACK} more: what the decision itself needs varies, and a mask an iteration waits for the collector. */
    private static long least(Model model, DataSet minibatch, Exactness loosest) {
        long bytes = 1;
        while (true) {
            try (MemOpt memopt = MemOpt.attach(model, budget(bytes, loosest))) {
                BudgetException refusal = catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(minibatch));
                if (refusal == null) {
                    return bytes + bytes / SLACK;
                }
                assertThat(refusal.leastBytes()).isGreaterThan(bytes);
                bytes = refusal.leastBytes();
            } finally {
                MemoryHooks.uninstall();
                Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            }
        }
    }

    private static MemOptConfig budget(long bytes, Exactness loosest) {
        return MemOptConfig.builder().budget(bytes + " B").exactness(loosest).build();
    }

    private static void fit(Model model, DataSet minibatch) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(minibatch);
        } else {
            ((ComputationGraph) model).fit(minibatch);
        }
    }

    private static Model masked() {
        MultiLayerNetwork network = new MultiLayerNetwork(builder()
                .list()
                .layer(lstm(48))
                .layer(lstm(48))
                .layer(new RnnOutputLayer.Builder().nOut(6).build())
                .setInputType(InputType.recurrent(INPUTS))
                .build());
        network.init();
        return network;
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder().seed(7).updater(new Adam(1e-3));
    }

    private static Layer bidirectional() {
        return new Bidirectional(lstm(32));
    }

    private static LSTM lstm(int units) {
        return new LSTM.Builder().nOut(units).build();
    }

    private static INDArray uniform(int... shape) {
        INDArray array =
                Nd4j.create(DataType.FLOAT, IntStream.of(shape).asLongStream().toArray());
        Random random = new Random(shape.length);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextFloat());
        }
        return array;
    }
}
