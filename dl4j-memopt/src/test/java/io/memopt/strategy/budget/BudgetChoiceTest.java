// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.strategy.UpdaterState;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.offload.SimulatedLanes;
import io.memopt.strategy.offload.UpdaterOffload;
import io.memopt.strategy.precision.Precision;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.nio.file.Path;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Files, mixed precision and the cache mode, chosen by a budget where they are allowed and needed, and nowhere else. */
class BudgetChoiceTest {
    private static final int BATCH = 16;
    private static final int ITERATIONS = 4;
    /** So that activations are most of what a deep network takes. */
    private static final int DEEP_BATCH = 256;

    private static final int DEEP_WIDTH = 32;
    /** The scale of the loss begins too high, and updates are left out meanwhile: there is no state of the updater yet. */
    private static final int UNTIL_SCALED = 12;
    /** Budgets are larger than the least by one in so many bytes: what small networks take while it is decided varies. */
    private static final int ROOM = 10;
    /** Bytes of scalars that nobody has collected yet. */
    private static final int SCALARS = 1024;

    @TempDir
    Path folder;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private static MemOptConfig.Builder plain() {
        return MemOptConfig.builder();
    }

    private static Supplier<Model> of(Networks each) {
        return () -> each.create(WorkspaceMode.ENABLED);
    }

    private static long least(Supplier<Model> networks, DataSet data, MemOptConfig.Builder config) {
        Model model = networks.get();
        try (MemOpt memopt = MemOpt.attach(model, config.budget("1 KB").build())) {
            return catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(data))
                    .leastBytes();
        } finally {
            MemoryHooks.uninstall();
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        }
    }

    private static BudgetReport train(Model model, DataSet data, MemOptConfig config) {
        return train(model, data, config, ITERATIONS);
    }

    private static BudgetReport train(Model model, DataSet data, MemOptConfig config, int iterations) {
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < iterations; i++) {
                Networks.fit(model, data);
            }
            return memopt.budget().orElseThrow();
        }
    }

    private static void assertMet(BudgetReport report) {
        assertThat(report.actualPeakBytes().orElseThrow())
                .as("%s", report)
                .isLessThanOrEqualTo(report.limitBytes())
                .isCloseTo(report.chosen().peakBytes(), withinPercentage(6)); // small networks: an array or two
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "LSTM_TEXT"})
    void stateInAFile_lowersTheLeastBudgetByItsBytes_andChangesNoBit(Networks each) {
        stateInAFile(of(each), i -> each.data(BATCH, i));
    }

    @Test
    void stateOfAGraphInAFile_lowersTheLeastBudgetByItsBytes_andChangesNoBit() {
        stateInAFile(() -> DeepNetworks.RESIDUAL_GRAPH.create(96), i -> DeepNetworks.data(DEEP_BATCH, 96, i));
    }

    @Test
    void stateOnTheHostOfADevice_lowersTheLeastBudget_andChangesNoBit() {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(SimulatedLanes.Pace.LATEST)) {
            stateElsewhere(of(Networks.LENET), i -> Networks.LENET.data(BATCH, i), Offload.HOST);
        }
    }

    private void stateInAFile(Supplier<Model> networks, IntFunction<DataSet> data) {
        stateElsewhere(networks, data, Offload.files(folder));
    }

    private void stateElsewhere(Supplier<Model> networks, IntFunction<DataSet> data, Offload where) {
        DataSet first = data.apply(0);
        long inMemory = least(networks, first, plain());
        long elsewhere = least(networks, first, plain().offloadUpdaterState(where));
        Model model = networks.get();
        long bytes = UpdaterState.elements(model) * Float.BYTES;
        assertThat(inMemory - elsewhere).isEqualTo(bytes - UpdaterOffload.stagingBytes(where, bytes));
        // Too little for the state, and room for the decision, whose garbage is collected sooner or later.
        long limit = elsewhere + Math.min((inMemory - elsewhere) / 2, elsewhere / ROOM);
        MemOptConfig config =
                plain().offloadUpdaterState(where).budget(limit + " B").build();

        BudgetReport report = train(model, first, config);

        assertThat(report.chosen().stateInFile()).isTrue();
        assertThat(report.chosen().exactness()).isEqualTo(Exactness.BITWISE);
        assertMet(report);
        forgetSizes();
        TwinRun.of(networks, data)
                .iterations(ITERATIONS)
                .compare(its -> MemOpt.attach(its, config))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(DeepNetworks.class)
    void checkpointsInFiles_lowerTheLeastBudget_andChangeNoBit(DeepNetworks each) {
        checkpointsElsewhere(each, Offload.files(folder));
    }

    @ParameterizedTest
    @EnumSource(DeepNetworks.class)
    void checkpointsOnTheHostOfADevice_lowerTheLeastBudget_andChangeNoBit(DeepNetworks each) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(SimulatedLanes.Pace.LATEST)) {
            checkpointsElsewhere(each, Offload.HOST);

            assertThat(device.lanes().figures().toHostCopies()).isPositive();
            assertThat(device.lanes().underWay()).isZero();
        }
    }

    private static void checkpointsElsewhere(DeepNetworks each, Offload where) {
        Supplier<Model> networks = () -> each.create(DEEP_WIDTH);
        DataSet data = DeepNetworks.data(DEEP_BATCH, DEEP_WIDTH, 0);
        long inMemory = least(networks, data, plain());
        long elsewhere = least(networks, data, plain().offloadCheckpoints(where));
        assertThat(elsewhere).isLessThan(inMemory);
        MemOptConfig config =
                plain().offloadCheckpoints(where).budget(elsewhere + " B").build();

        BudgetReport report = train(networks.get(), data, config);

        assertThat(report.chosen().keptInFiles()).isTrue();
        assertThat(report.chosen().strategy()).contains("offloaded");
        long array = (long) DEEP_BATCH * DEEP_WIDTH * Float.BYTES;
        assertThat(report.actualPeakBytes().orElseThrow()).isBetween(elsewhere - array * 5 / 4, elsewhere + SCALARS);
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        TwinRun.of(networks, i -> DeepNetworks.data(DEEP_BATCH, DEEP_WIDTH, i))
                .iterations(ITERATIONS)
                .compare(its -> MemOpt.attach(its, config))
                .requireBitwise();
    }

    @Test
    void ampleBudget_usesNothingThatIsAllowed() {
        MemOptConfig config = plain().budget("1 GiB")
                .offloadUpdaterState(folder)
                .offloadCheckpoints(folder)
                .exactness(Exactness.LOSSY)
                .build();

        BudgetRow chosen = train(Networks.VGG.create(WorkspaceMode.ENABLED), Networks.VGG.data(BATCH, 0), config)
                .chosen();

        assertThat(chosen.stateInFile()).isFalse();
        assertThat(chosen.keptInFiles()).isFalse();
        assertThat(chosen.cuts()).isEmpty();
        assertThat(chosen.exactness()).isEqualTo(Exactness.BITWISE);
    }

    @Test
    void mixedPrecision_isChosenOnlyWhereOtherNumbersAreAllowed() {
        DataSet data = DeepNetworks.data(DEEP_BATCH, DEEP_WIDTH, 0);
        long single = least(BudgetChoiceTest::normalised, data, plain().exactness(Exactness.REORDERED));
        long limit = single * 17 / 20;

        MemOptConfig config = plain().exactness(Exactness.LOSSY)
                .budget(limit + " B")
                .budgetProfile(folder.resolve("budgets.json"))
                .build();

        BudgetReport report = train(normalised(), data, config, UNTIL_SCALED);
        BudgetReport again = train(normalised(), data, config, UNTIL_SCALED);

        assertThat(report.chosen().precision()).isEqualTo(Precision.MIXED_HALF);
        assertThat(report.chosen().exactness()).isEqualTo(Exactness.LOSSY);
        assertThat(report.toString()).contains("lossy").contains("mixed precision");
        assertMet(report);
        assertThat(again.remembered()).isTrue();
        assertThat(again.actualPeakBytes().orElseThrow())
                .as("with the copy in half precision, which no pass has made")
                .isCloseTo(report.actualPeakBytes().orElseThrow(), withinPercentage(1));
        assertThat(report.actualStepMillis().orElseThrow()).isPositive();
    }

    /** Parts are refused, and activations are most of it. */
    private static Model normalised() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(11)
                .updater(new Adam(1e-3, 0.9, 0.999, 1e-4))
                .list();
        for (int i = 0; i < 6; i++) {
            list.layer(new DenseLayer.Builder()
                    .nOut(DEEP_WIDTH)
                    .activation(Activation.TANH)
                    .build());
        }
        list.layer(new BatchNormalization.Builder().build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(4)
                        .activation(Activation.SOFTMAX)
                        .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.feedForward(DEEP_WIDTH)).build());
        network.init();
        return network;
    }

    /** Convolutions in half precision are slow on a CPU. */
    @Tag("soak")
    @Test
    void precisionThatIsAskedFor_isKept_andGivesItsBits() {
        Networks each = Networks.LENET;
        DataSet data = each.data(BATCH, 0);
        MemOptConfig.Builder mixed = plain().precision(Precision.MIXED_HALF);
        long least = least(of(each), data, mixed);
        MemOptConfig config =
                plain().precision(Precision.MIXED_HALF).budget(least + " B").build();
        Model model = each.create(WorkspaceMode.ENABLED);

        BudgetReport report = train(model, data, config);

        assertThat(report.chosen().precision()).isEqualTo(Precision.MIXED_HALF);
        assertThat(report.front()).allMatch(row -> row.precision() == Precision.MIXED_HALF);
        assertMet(report);
        forgetSizes();
        Model reference = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(reference, plain().precision(Precision.MIXED_HALF).build())) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(reference, data);
            }
            assertThat(memopt.isActive()).isTrue();
        }
        assertThat(model.params().dup().data().asBytes())
                .isEqualTo(reference.params().dup().data().asBytes());
    }

    @Test
    void cacheMode_isSwitchedOffWhereItDoesNotFit_andIsBackAfterwards() {
        Supplier<Model> networks = () -> cached(Networks.LENET);
        DataSet data = Networks.LENET.data(BATCH, 0);
        long least = least(networks, data, plain());
        MemOptConfig config = plain().budget(least + " B").build();
        MultiLayerNetwork network = (MultiLayerNetwork) networks.get();

        BudgetReport report = train(network, data, config);

        assertThat(report.chosen().caching()).isEqualTo(Caching.OFF);
        assertThat(report.plain().caching()).isEqualTo(Caching.KEPT);
        assertThat(report.plain().peakBytes()).isGreaterThan(least);
        assertMet(report);
        assertThat(network.getLayerWiseConfigurations().getCacheMode()).isEqualTo(CacheMode.DEVICE);
        assertThat(CacheSwitch.isOn(network)).isTrue();
        forgetSizes();
        TwinRun.of(networks, i -> Networks.LENET.data(BATCH, i))
                .iterations(ITERATIONS)
                .compare(its -> MemOpt.attach(its, config))
                .requireBitwise();
    }

    @Test
    void cacheMode_thatFits_isOneOfTheWays_andChangesNoBit() {
        Supplier<Model> networks = () -> cached(Networks.LENET);
        MemOptConfig config = plain().budget("1 GiB").build();

        BudgetReport report = train(networks.get(), Networks.LENET.data(BATCH, 0), config);

        assertThat(report.chosen().caching()).isNotEqualTo(Caching.NONE);
        assertMet(report);
        forgetSizes();
        TwinRun.of(networks, i -> Networks.LENET.data(BATCH, i))
                .iterations(ITERATIONS)
                .compare(its -> MemOpt.attach(its, config))
                .requireBitwise();
    }

    private static Model cached(Networks each) {
        MultiLayerNetwork network = (MultiLayerNetwork) each.create(WorkspaceMode.ENABLED);
        network.setCacheMode(CacheMode.DEVICE);
        network.getLayerWiseConfigurations().setCacheMode(CacheMode.DEVICE);
        network.getLayerWiseConfigurations().getConfs().forEach(layer -> layer.setCacheMode(CacheMode.DEVICE));
        return network;
    }

    @Test
    void secondHandleWithTheSameBudget_joinsTheFirst() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                plain().offloadUpdaterState(folder).budget("1 GiB").build();
        try (MemOpt first = MemOpt.attach(model, config)) {
            first.rehearse(Networks.LENET.data(BATCH, 0));
            try (MemOpt second = MemOpt.attach(model, config)) {
                assertThat(second.budget()).isEqualTo(first.budget());
            }
        }
    }

    @Test
    void folderThatDoesNotExist_isRefusedBesideABudget() {
        MemOptConfig config = plain().budget("1 GiB")
                .offloadCheckpoints(folder.resolve("none"))
                .build();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(Networks.LENET.create(WorkspaceMode.ENABLED), config))
                .withMessageContaining("offloadCheckpoints=");
    }
}
