// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.PinnedBlock;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.offload.SimulatedLanes.Pace;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Updater state and checkpoints on the host of a simulated device train to the same bits, whenever copies are made. */
class HostOffloadTest {
    private static final MemOptConfig STATE =
            MemOptConfig.builder().offloadUpdaterState(Offload.HOST).build();
    private static final MemOptConfig OUTPUTS = MemOptConfig.builder()
            .activationShare(0)
            .offloadCheckpoints(Offload.HOST)
            .build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @ParameterizedTest
    @MethodSource("networksAndPaces")
    void state_onHost_changesNoBit(Networks each, Pace pace) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(pace)) {
            compare(each, STATE, 3);

            assertThat(device.lanes().figures().toHostBytes()).isPositive();
            assertThat(device.lanes().underWay()).isZero();
            assertThat(device.lanes().remembered()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("networksAndPaces")
    void checkpoints_onHost_changeNoBit(Networks each, Pace pace) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(pace)) {
            compare(each, OUTPUTS, 4);

            assertThat(device.lanes().underWay()).isZero();
            assertThat(device.lanes().remembered()).isZero();
        }
    }

    /** The books of uses see no copies of the lanes: a plan must not take them for unused bytes. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void plannedWorkspaces_andBothOnHost_changeNoBit(Networks each) {
        MemOptConfig both = MemOptConfig.builder()
                .activationShare(0)
                .offloadCheckpoints(Offload.HOST)
                .offloadUpdaterState(Offload.HOST)
                .reuse(Reuse.PLANNED)
                .build();
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> Networks.fit(model, each.data(4, i)))
                    .iterations(6)
                    .compare(model -> {
                        MemOpt memopt = MemOpt.attach(model, both);
                        return () -> {
                            assertThat(memopt.plans()).anyMatch(row -> row.served() > 0);
                            assertThat(memopt.summary().notes())
                                    .anyMatch(note -> note.contains("lie on the host in between"))
                                    .anyMatch(note -> note.contains("of updater state lie on the host"));
                            memopt.close();
                        };
                    })
                    .requireBitwise();
            assertThat(device.lanes().underWay()).isZero();
        }
    }

    /** Deep enough for outputs to leave, which in the networks above few do. */
    @ParameterizedTest
    @EnumSource
    void checkpointsOfADeepChain_changeNoBit(Pace pace) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(pace)) {
            TwinRun.of(HostOffloadTest::deepChain, (model, i) -> ((MultiLayerNetwork) model).fit(deepData(i)))
                    .iterations(5)
                    .compare(model -> MemOpt.attach(model, OUTPUTS))
                    .requireBitwise();
            assertThat(device.lanes().figures().toHostCopies()).isPositive();
            assertThat(device.lanes().underWay()).isZero();
        }
    }

    /** {@code clear()} drops the solver, and with it the step that would be told. */
    @Test
    void close_afterTheNetworkDroppedItsSolver_bringsTheStateBack() {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            MultiLayerNetwork network = deepChain();
            MemOpt memopt = MemOpt.attach(
                    network,
                    MemOptConfig.builder().offloadUpdaterState(Offload.HOST).build());
            network.fit(deepData(0));
            Updater updater = network.getUpdater();
            assertThat(PinnedBlock.begins(stateAddress(updater))).isTrue();
            network.clear();

            memopt.close();

            assertThat(PinnedBlock.begins(stateAddress(updater))).isFalse();
            assertThat(device.lanes().underWay()).isZero();
        }
    }

    private static long stateAddress(Updater updater) {
        return updater.getStateViewArray().data().address();
    }

    /** Of some six kept outputs the device has two at a time. */
    @Test
    void checkpointsOfADeepChain_takeLessOfTheDevice() {
        long onDevice = keptBytes(MemOptConfig.builder().activationShare(0).build());
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            assertThat(keptBytes(OUTPUTS)).isPositive().isLessThan(onDevice * 2 / 3);
            assertThat(device.lanes().figures().toHostCopies()).isPositive();
            assertThat(device.lanes().figures().toDeviceCopies())
                    .isEqualTo(device.lanes().figures().toHostCopies());
        }
    }

    /** Size of the workspace of kept outputs once it is learnt. */
    private static long keptBytes(MemOptConfig config) {
        MultiLayerNetwork network = deepChain();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (int i = 0; i < 4; i++) {
                network.fit(new DataSet(Nd4j.rand(256, 16), Nd4j.rand(256, 2)));
            }
            return Nd4j.getWorkspaceManager()
                    .getWorkspaceForCurrentThread("WS_ALL_LAYERS_ACT")
                    .getCurrentSize();
        }
    }

    private static MultiLayerNetwork deepChain() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Adam(0.01))
                .list();
        for (int i = 0; i < 36; i++) {
            list.layer(new DenseLayer.Builder().nIn(16).nOut(16).build());
        }
        MultiLayerNetwork network = new MultiLayerNetwork(list.layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(16)
                        .nOut(2)
                        .build())
                .build());
        network.init();
        return network;
    }

    private static DataSet deepData(int seed) {
        Random random = new Random(seed);
        return new DataSet(uniform(random, 8, 16), uniform(random, 8, 2));
    }

    private static INDArray uniform(Random random, int rows, int columns) {
        float[][] values = new float[rows][columns];
        for (float[] row : values) {
            for (int i = 0; i < columns; i++) {
                row[i] = random.nextFloat();
            }
        }
        return Nd4j.createFromArray(values);
    }

    private static void compare(Networks each, MemOptConfig config, int iterations) {
        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> Networks.fit(model, each.data(4, i)))
                .iterations(iterations)
                .compare(model -> MemOpt.attach(model, config))
                .requireBitwise();
    }

    static List<Arguments> networksAndPaces() {
        return List.of(
                Arguments.of(Networks.LENET, Pace.EARLIEST),
                Arguments.of(Networks.LENET, Pace.LATEST),
                Arguments.of(Networks.RESIDUAL_GRAPH, Pace.RANDOM),
                Arguments.of(Networks.RESIDUAL_GRAPH, Pace.LATEST),
                Arguments.of(Networks.LSTM_TEXT, Pace.LATEST),
                Arguments.of(Networks.VGG, Pace.LATEST));
    }

    static List<IUpdater> updaters() {
        return List.of(
                new Adam(0.01),
                new AdaMax(0.01),
                new AMSGrad(0.01),
                new Nadam(0.01),
                new AdaDelta(),
                new AdaGrad(0.1),
                new Nesterovs(0.1, 0.9),
                new RmsProp(0.01),
                new Sgd(0.1));
    }

    /** More parts than slots, the last one shorter, of several blocks. */
    @ParameterizedTest
    @MethodSource("updaters")
    void eachUpdater_inParts_changesNoBit(IUpdater updater) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.RANDOM)) {
            TwinRun.of(() -> dense(updater), (model, i) -> ((MultiLayerNetwork) model).fit(OffloadTest.minibatch(i)))
                    .iterations(4)
                    .compare(model -> MemOpt.attach(model, STATE))
                    .requireBitwise();

            boolean stateless = updater instanceof Sgd;
            assertThat(device.lanes().figures().toHostCopies()).isGreaterThanOrEqualTo(stateless ? 0 : 4 * 4);
            assertThat(device.lanes().remembered()).isZero();
        }
    }

    private static Model dense(IUpdater updater) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(updater)
                .weightDecay(1e-3)
                .list()
                .layer(new DenseLayer.Builder().nIn(5).nOut(301).build())
                .layer(new BatchNormalization.Builder().nOut(301).build())
                .layer(new DenseLayer.Builder().nIn(301).nOut(257).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(257)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .build());
        network.init();
        return network;
    }

    @Test
    void state_isSavedAsItIs_andIsBackAfterClose() throws IOException {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
            ByteArrayOutputStream saved = new ByteArrayOutputStream();
            INDArray before;
            try (MemOpt memopt = MemOpt.attach(network, STATE)) {
                network.fit(Networks.LENET.data(4, 0));
                before = network.getUpdater().getStateViewArray().dup();
                ModelSerializer.writeModel(network, saved, true);
            }

            assertThat(network.getUpdater().getStateViewArray()).isEqualTo(before);
            assertThat(device.lanes().underWay()).isZero();
            MultiLayerNetwork restored =
                    ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(saved.toByteArray()), true);
            assertThat(restored.getUpdater().getStateViewArray()).isEqualTo(before);
            network.fit(Networks.LENET.data(4, 1));
            assertThat(network.getUpdater().getStateViewArray()).isNotEqualTo(before);
        }
    }
}
