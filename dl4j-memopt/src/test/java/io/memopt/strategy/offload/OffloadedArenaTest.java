// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.report.MemorySummary.WorkspaceRow;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.offload.SimulatedLanes.Pace;
import io.memopt.verify.TwinRun;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Planned training with checkpoints elsewhere reserves less, by the ledger, than with checkpoints in the arena: more and shorter segments
 * are worth it where what they leave weighs little.
 */
class OffloadedArenaTest {
    /** Segments of a first pass are equal; the second is measured, planned and proved, and what follows is served. */
    private static final int LEARNING = 4;

    @TempDir
    Path folder;

    /** Of which activations are most, or a good part. */
    enum Deep {
        DENSE_CHAIN {
            @Override
            MultiLayerNetwork create() {
                NeuralNetConfiguration.ListBuilder list =
                        new NeuralNetConfiguration.Builder().seed(3).list();
                for (int i = 0; i < 36; i++) {
                    list.layer(new DenseLayer.Builder().nOut(16).build());
                }
                return network(list, InputType.feedForward(16));
            }

            @Override
            DataSet data(int seed) {
                Random random = new Random(seed);
                return new DataSet(uniform(random, 256, 16), uniform(random, 256, 4));
            }
        },
        /** Each output is larger than the one before, so that no slot serves the next one. */
        WIDENING_CHAIN {
            @Override
            MultiLayerNetwork create() {
                NeuralNetConfiguration.ListBuilder list =
                        new NeuralNetConfiguration.Builder().seed(3).list();
                for (int i = 0; i < 36; i++) {
                    list.layer(new DenseLayer.Builder().nOut(4 + 2 * i).build());
                }
                return network(list, InputType.feedForward(16));
            }

            @Override
            DataSet data(int seed) {
                return DENSE_CHAIN.data(seed);
            }
        },
        /** Convolutions unfold their inputs, which no checkpoint helps. */
        VGG {
            @Override
            MultiLayerNetwork create() {
                NeuralNetConfiguration.ListBuilder list =
                        new NeuralNetConfiguration.Builder().seed(3).list();
                for (int channels : new int[] {4, 8}) {
                    for (int i = 0; i < 12; i++) {
                        list.layer(new ConvolutionLayer.Builder(3, 3)
                                .convolutionMode(ConvolutionMode.Same)
                                .nOut(channels)
                                .activation(Activation.RELU)
                                .build());
                    }
                    list.layer(new SubsamplingLayer.Builder(2, 2).stride(2, 2).build());
                }
                return network(list, InputType.convolutional(16, 16, 3));
            }

            @Override
            DataSet data(int seed) {
                Random random = new Random(seed);
                return new DataSet(uniform(random, 4, 3, 16, 16), uniform(random, 4, 4));
            }
        };

        abstract MultiLayerNetwork create();

        abstract DataSet data(int seed);

        private static INDArray uniform(Random random, long... shape) {
            float[] values = new float[Math.toIntExact(Arrays.stream(shape).reduce(1, Math::multiplyExact))];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextFloat();
            }
            return Nd4j.createFromArray(values).reshape(shape);
        }

        private static MultiLayerNetwork network(NeuralNetConfiguration.ListBuilder list, InputType input) {
            MultiLayerNetwork network = new MultiLayerNetwork(list.layer(new OutputLayer.Builder(LossFunction.MSE)
                            .nOut(4)
                            .activation(Activation.SIGMOID)
                            .build())
                    .setInputType(input)
                    .build());
            network.init();
            return network;
        }
    }

    @BeforeEach
    @AfterEach
    void afresh() {
        uninstall();
    }

    private static void uninstall() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private static MemOptConfig.Builder checkpoints() {
        return MemOptConfig.builder().reuse(Reuse.PLANNED).activationShare(0);
    }

    @ParameterizedTest
    @EnumSource
    void checkpointsOnTheHost_takeLessThanInTheArena_andChangeNoBit(Deep each) {
        List<DataSet> data = data(each);
        Taken inArena = train(each, data, checkpoints().build());
        MemOptConfig config = checkpoints().offloadCheckpoints(Offload.HOST).build();
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            assertLess(each + " on the host", train(each, data, config), inArena);
            assertThat(device.lanes().figures().toHostCopies()).isPositive();
            assertNoBitChanges(each, config);
        }
    }

    @ParameterizedTest
    @EnumSource
    void checkpointsInFiles_takeLessThanInTheArena_andChangeNoBit(Deep each) {
        List<DataSet> data = data(each);
        Taken inArena = train(each, data, checkpoints().build());
        MemOptConfig config = checkpoints().offloadCheckpoints(folder).build();

        assertLess(each + " in files", train(each, data, config), inArena);
        assertNoBitChanges(each, config);
    }

    /** The first pass has other segments, and keeps its arrays to the ends of their scopes. */
    @ParameterizedTest
    @EnumSource
    void arena_hasNoRoomForTheSegmentsOfTheFirstPass(Deep each) {
        Taken taken = train(each, data(each), checkpoints().build());

        assertThat(taken.arenaBytes).isEqualTo(taken.plannedBytes);
    }

    private static void assertLess(String what, Taken taken, Taken inArena) {
        assertThat(taken.peakBytes).as("peak, " + what).isLessThan(inArena.peakBytes);
        assertThat(taken.arenaBytes).as("arena, " + what).isLessThan(inArena.arenaBytes);
    }

    private void assertNoBitChanges(Deep each, MemOptConfig config) {
        uninstall();
        TwinRun.of(each::create, each::data)
                .iterations(LEARNING + 1)
                .compare(model -> MemOpt.attach(model, config))
                .requireBitwise();
    }

    /**
     * By an iteration that is served from a plan.
     *
     * @param peakBytes most that was reserved in it
     * @param arenaBytes of its arena
     * @param plannedBytes what the plan says of that
     */
    private record Taken(long peakBytes, long arenaBytes, long plannedBytes) {}

    /** Held by the caller, so that no collection makes a difference. */
    private static List<DataSet> data(Deep each) {
        return IntStream.rangeClosed(0, LEARNING).mapToObj(each::data).toList();
    }

    private static Taken train(Deep each, List<DataSet> data, MemOptConfig config) {
        uninstall();
        MultiLayerNetwork network = each.create();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (int i = 0; i < LEARNING; i++) {
                network.fit(data.get(i));
            }
            try (PeakWindow window = MemoryHooks.recording().ledger().openPeakWindow()) {
                network.fit(data.get(LEARNING));
                return new Taken(window.take().reservedBytes(MemorySpace.HOST), arena(memopt), planned(memopt));
            }
        } finally {
            uninstall();
        }
    }

    private static long arena(MemOpt memopt) {
        return memopt.summary().workspaces().stream()
                .filter(row -> row.name().equals(NetworkWorkspaces.ARENA))
                .mapToLong(WorkspaceRow::reservedBytes)
                .sum();
    }

    private static long planned(MemOpt memopt) {
        return memopt.plans().stream()
                .filter(plan -> plan.served() > 0)
                .mapToLong(PlanRow::arenaBytes)
                .max()
                .orElseThrow();
    }
}
