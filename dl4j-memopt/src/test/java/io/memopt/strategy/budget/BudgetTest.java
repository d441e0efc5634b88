// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.memopt.ErrorLog;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.analysis.Exactness;
import io.memopt.listeners.training.Trackers;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.StepOptions;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** Budgets are met, or refused before anything was learnt. */
class BudgetTest {
    private static final int BATCH = 16;
    private static final int ITERATIONS = 3;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void leastBudgetThatTheRefusalNames_isMet(Networks each) {
        BudgetException refusal = catchThrowableOfType(
                BudgetException.class, () -> train(each, MemOptConfig.builder().budget("100 KB")));
        assertThat(refusal)
                .hasMessageContaining("the least budget that can be met is")
                .hasMessageContaining("minibatches of " + BATCH);

        BudgetReport report = train(each, MemOptConfig.builder().budget(refusal.leastBytes() + " B"));

        assertThat(report.chosen().peakBytes()).isEqualTo(refusal.leastBytes());
        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(refusal.leastBytes());
        assertThat(report.decidingBytes()).isLessThanOrEqualTo(refusal.leastBytes());
        assertThat(report.plain().peakBytes()).isGreaterThan(report.chosen().peakBytes());
    }

    @Test
    void ampleBudget_changesNothingButGarbage() {
        BudgetReport report = train(Networks.VGG, MemOptConfig.builder().budget("1 GiB"));

        assertThat(report.chosen().reuse()).isEqualTo(Reuse.RELEASED);
        assertThat(report.chosen().cuts()).isEmpty();
        assertThat(report.chosen().parts()).isEqualTo(1);
        assertThat(report.actualPeakBytes().orElseThrow())
                .isCloseTo(report.chosen().peakBytes(), withinPercentage(5));
    }

    @Test
    void parts_areChosenOnlyWhereOtherBitsAreAllowed() {
        long least = leastOfLeNet();
        String below = least * 3 / 4 + " B";

        BudgetReport report =
                train(Networks.LENET, MemOptConfig.builder().budget(below).exactness(Exactness.REORDERED));

        assertThat(report.chosen().parts()).isGreaterThan(1);
        assertThat(report.chosen().exactness()).isEqualTo(Exactness.REORDERED);
        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(least * 3 / 4);
    }

    @Test
    void rehearsal_putsTheChosenStepIntoEffect() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(BATCH, 0);
        MemOptConfig config = MemOptConfig.builder()
                .budget(leastOfLeNet() * 3 / 4 + " B")
                .exactness(Exactness.REORDERED)
                .build();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            memopt.rehearse(data);
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(network, data);
            }
            BudgetReport report = memopt.budget().orElseThrow();

            assertThat(report.chosen().parts()).isGreaterThan(1);
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
        }
    }

    /** The budget counts one minibatch: what a program reads ahead, keeps, or had before is its own. */
    @Test
    void actualPeak_isOfTheChosenWay_howeverManyMinibatchesThereAre() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        List<DataSet> before = minibatches(0, 40);
        List<DataSet> kept = new ArrayList<>();
        MemOptConfig config = MemOptConfig.builder().budget("1 GiB").build();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            memopt.rehearse(Networks.LENET.data(BATCH, 7));
            long predicted = memopt.budget().orElseThrow().chosen().peakBytes();
            for (DataSet each : before.subList(0, ITERATIONS)) {
                Networks.fit(network, each);
            }
            for (int i = 0; i < 40; i++) {
                kept.add(Networks.LENET.data(BATCH, i));
                Networks.fit(network, kept.get(i));
            }
            ((MultiLayerNetwork) network).output(Nd4j.rand(2000, 784));
            Networks.fit(network, kept.get(0));

            assertThat(memopt.budget().orElseThrow().actualPeakBytes().orElseThrow())
                    .isCloseTo(predicted, withinPercentage(5));
        }
        assertThat(before).hasSize(40);
    }

    private static List<DataSet> minibatches(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> Networks.LENET.data(BATCH, i))
                .toList();
    }

    private static long leastOfLeNet() {
        return catchThrowableOfType(
                        BudgetException.class,
                        () -> train(Networks.LENET, MemOptConfig.builder().budget("100 KB")))
                .leastBytes();
    }

    @Test
    void refusedRehearsal_isRefusedAgainByTraining() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(BATCH, 0);
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().budget("100 KB").build())) {
            assertThatExceptionOfType(BudgetException.class).isThrownBy(() -> memopt.rehearse(data));
            assertThatExceptionOfType(BudgetException.class).isThrownBy(() -> Networks.fit(network, data));
        }
        Networks.fit(network, data); // nothing of ours is left
    }

    /** Sequences of five lengths, the first is the shortest. */
    @Test
    void sequencesOfOtherLengths_areMetWhenTheLongestWasRehearsed() {
        Networks each = Networks.LSTM_TEXT;
        DataSet longest = each.data(BATCH, 4);
        long least = catchThrowableOfType(BudgetException.class, () -> trainLengths(each, longest, "10 KB"))
                .leastBytes();

        long plain = trainLengths(each, longest, "1 GiB").chosen().peakBytes();
        BudgetReport ample = trainLengths(each, longest, plain + " B");
        assertThat(ample.chosen().reuse()).isEqualTo(Reuse.RELEASED);
        assertThat(ample.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(plain);
        String rehearsed = ErrorLog.of(() -> {
            BudgetReport report = trainLengths(each, longest, least + " B");
            assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(least);
        });

        assertThat(rehearsed).doesNotContain("does not hold");
    }

    /** Parts are so small that what a few examples take to be rehearsed is no small share of them. */
    @Test
    void sequencesOfOtherLengths_areWithinTheBudgetInParts() {
        Networks each = Networks.LSTM_TEXT;
        DataSet longest = each.data(BATCH, 4);
        long least = catchThrowableOfType(
                        BudgetException.class, () -> trainLengths(each, longest, "10 KB", Exactness.REORDERED))
                .leastBytes();
        List<BudgetReport> reports = IntStream.of(100, 112, 125)
                .mapToObj(percent -> trainLengths(each, longest, least * percent / 100 + " B", Exactness.REORDERED))
                .toList();

        assertThat(reports)
                .allMatch(report -> report.chosen().parts() > 1)
                .anyMatch(report -> report.chosen().reuse() == Reuse.PLANNED)
                .allSatisfy(report ->
                        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes()));
    }

    /** Of a mask of labels the output layer has a row for each step. */
    @Test
    void leastBudgetOfMaskedSequences_isMet() {
        INDArray mask = Nd4j.ones(BATCH, 12);
        mask.putScalar(0, 11, 0);
        DataSet data =
                new DataSet(Nd4j.rand(BATCH, 5, 12), Nd4j.ones(BATCH, 3, 12).divi(3), mask, mask.dup());
        BudgetException refusal = catchThrowableOfType(BudgetException.class, () -> trainMasked(data, 1000));

        BudgetReport report = trainMasked(data, refusal.leastBytes());

        assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(refusal.leastBytes());
    }

    private static BudgetReport trainMasked(DataSet data, long budget) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new LSTM.Builder().nIn(5).nOut(24).build())
                .layer(new LSTM.Builder().nIn(24).nOut(24).build())
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nIn(24)
                        .nOut(3)
                        .build())
                .build());
        network.init();
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().budget(budget + " B").build())) {
            for (int i = 0; i < ITERATIONS; i++) {
                network.fit(data);
            }
            return memopt.budget().orElseThrow();
        }
    }

    /** The end of a bucket has few examples, of which no plan follows. */
    @Test
    void shapesThatComeWithFewExamplesFirst_areRehearsedWhenThereAreMore() {
        Networks each = Networks.LSTM_TEXT;
        DataSet longest = each.data(BATCH, 4);
        long least = catchThrowableOfType(BudgetException.class, () -> trainLengths(each, longest, "10 KB"))
                        .leastBytes()
                * 102
                / 100;
        Model network = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().budget(least + " B").build())) {
            memopt.rehearse(longest);
            String log = ErrorLog.of(() -> {
                for (int i = 0; i < 2; i++) {
                    Networks.fit(network, each.data(1, 3));
                    Networks.fit(network, each.data(BATCH, 3));
                }
            });

            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
            assertThat(log).doesNotContain("does not hold");
        }
    }

    /** A batch of one goes other ways through some layers, so that no plan follows from those of others. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH"})
    void minibatchOfOne_isWithinTheBudget(Networks each) {
        DataSet whole = each.data(8, 0);
        List<DataSet> data = IntStream.of(8, 8, 1, 8, 5, 1, 2, 8)
                .mapToObj(batch -> each.data(batch, batch))
                .toList();
        Model network = each.create(WorkspaceMode.ENABLED);
        long least = catchThrowableOfType(BudgetException.class, () -> {
                    try (MemOpt memopt = MemOpt.attach(
                            network, MemOptConfig.builder().budget("10 KB").build())) {
                        memopt.rehearse(whole);
                    }
                })
                .leastBytes();
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().budget(least * 102 / 100 + " B").build())) {
            memopt.rehearse(whole);
            String log = ErrorLog.of(() -> {
                data.forEach(minibatch -> Networks.fit(network, minibatch));
            });

            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
            assertThat(log).doesNotContain("does not hold");
        }
    }

    @Test
    void otherOptimizers_stayWithoutAWord_butLargerMinibatchesAreWarnedOf() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .optimizationAlgo(OptimizationAlgorithm.LBFGS)
                .list()
                .layer(new DenseLayer.Builder().nIn(8).nOut(8).build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(2)
                        .build())
                .setInputType(InputType.feedForward(8))
                .build());
        network.init();
        String log = ErrorLog.of(() -> {
            try (MemOpt memopt = MemOpt.attach(
                    network, MemOptConfig.builder().budget("1 GiB").build())) {
                memopt.rehearse(new DataSet(Nd4j.rand(BATCH, 8), Nd4j.rand(BATCH, 2)));
                network.fit(new DataSet(Nd4j.rand(BATCH, 8), Nd4j.rand(BATCH, 2)));
                network.fit(new DataSet(Nd4j.rand(BATCH + 1, 8), Nd4j.rand(BATCH + 1, 2)));
            }
        });

        assertThat(log).doesNotContain("which stays").containsOnlyOnce("does not hold");
    }

    private static BudgetReport trainLengths(Networks each, DataSet sample, String budget) {
        return trainLengths(each, sample, budget, Exactness.BITWISE);
    }

    private static BudgetReport trainLengths(Networks each, DataSet sample, String budget, Exactness loosest) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model network = each.create(WorkspaceMode.ENABLED);
        List<DataSet> data =
                IntStream.range(0, 10).mapToObj(i -> each.data(BATCH, i)).toList();
        try (MemOpt memopt = MemOpt.attach(
                network,
                MemOptConfig.builder().budget(budget).exactness(loosest).build())) {
            memopt.rehearse(sample);
            data.forEach(minibatch -> Networks.fit(network, minibatch));
            return memopt.budget().orElseThrow();
        }
    }

    /** Sequences of five lengths. */
    @Test
    void tightBudget_changesNoBit() {
        Networks each = Networks.LSTM_TEXT;
        long least = catchThrowableOfType(
                        BudgetException.class,
                        () -> train(each, MemOptConfig.builder().budget("100 KB")))
                .leastBytes();

        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), i -> each.data(BATCH, i))
                .iterations(6)
                .compare(model -> MemOpt.attach(
                        model, MemOptConfig.builder().budget(least + " B").build()))
                .requireBitwise();
    }

    @Test
    void front_risesInMemoryAndFallsInTime_andIsInTheSummary() {
        Model network = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().budget(0.5).build())) {
            memopt.rehearse(Networks.VGG.data(BATCH, 0));
            BudgetReport report = memopt.budget().orElseThrow();

            assertThat(report.front()).extracting(BudgetRow::peakBytes).isSorted();
            assertThat(report.front())
                    .extracting(BudgetRow::stepMillis)
                    .isSortedAccordingTo((one, other) -> Double.compare(other, one));
            assertThat(report.front()).hasSizeGreaterThan(1);
            assertThat(memopt.summary().toString()).contains("chosen: ");
            assertThat(memopt.summary().toJson())
                    .contains("\"budgets\"")
                    .contains("\"limitBytes\": " + report.limitBytes());
        }
    }

    @Test
    void rehearsal_leavesParametersAndGeneratorAsTheyWere() {
        Model network = Networks.VGG.create(WorkspaceMode.ENABLED);
        float[] before = network.params().dup().data().asFloat();
        long root = Nd4j.getRandom().rootState();
        long node = Nd4j.getRandom().nodeState();
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().budget("1 GiB").build())) {
            memopt.rehearse(Networks.VGG.data(BATCH, 0));
        }

        assertThat(network.params().dup().data().asFloat()).isEqualTo(before);
        assertThat(new long[] {Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState()})
                .containsExactly(root, node);
    }

    @Test
    void secondRun_choosesTheSameFromTheProfile(@TempDir Path folder) {
        Path file = folder.resolve("budgets.json");
        MemOptConfig.Builder config = MemOptConfig.builder().budget("8 MiB").budgetProfile(file);

        BudgetReport first = train(Networks.LENET, config);
        MemoryHooks.uninstall();
        BudgetReport second = train(Networks.LENET, config);

        assertThat(first.remembered()).isFalse();
        assertThat(second.remembered()).isTrue();
        assertThat(second.chosen()).isEqualTo(first.chosen());
        assertThat(second.front()).isEqualTo(first.front());
        assertThat(second.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(second.limitBytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[]",
                "{\"format\":\"memopt-budgets\",\"version\":1}",
                "{\"format\":\"memopt-budgets\",\"version\":3,\"choices\":{\"x\":{\"front\":null}}}"
            })
    void damagedProfile_isDecidedAnew(String content, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("budgets.json"), content);
        BudgetProfile profile = BudgetProfile.of(Optional.of(file));
        BudgetRow row = new BudgetRow(
                "plain",
                Reuse.RELEASED,
                List.of(),
                false,
                Caching.NONE,
                Precision.AS_CONFIGURED,
                1,
                false,
                Way.NO_SCRATCH,
                0,
                Exactness.BITWISE,
                1000,
                2.5);

        assertThat(profile.find("key")).isEmpty();
        profile.put("key", new BudgetProfile.Remembered(row, row, List.of(row)));
        assertThat(profile.find("key")).contains(new BudgetProfile.Remembered(row, row, List.of(row)));
    }

    @Test
    void unforeseenFailure_isNoReasonToStopTraining() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        float[] before = network.params().dup().data().asFloat();
        BudgetLevers broken = new BudgetLevers() {
            @Override
            public void reuse(Model model, Reuse reuse) {
                throw new IllegalStateException("no hooks");
            }

            @Override
            public boolean guards() {
                return false;
            }

            @Override
            public void release(Model model) {}

            @Override
            public void step(Model model, StepOptions options) {}

            @Override
            public boolean rehearse(Model model, IntConsumer give) {
                return true;
            }

            @Override
            public boolean serves(Model model) {
                return true;
            }
        };
        try (MemOpt memopt = MemOpt.attach(network);
                NetworkBudget budget = NetworkBudget.begin(
                        network,
                        Trackers.current(),
                        broken,
                        BudgetOptions.NONE.withBytes(1 << 30),
                        StepOptions.PLAIN)) {
            Networks.fit(network, Networks.LENET.data(BATCH, 0));

            assertThat(budget.report()).isEmpty();
            assertThat(memopt.isActive()).isTrue();
        }
        assertThat(network.params().dup().data().asFloat()).isNotEqualTo(before);
    }

    @Test
    void networkWithoutWorkspaces_isRefusedAtOnce() {
        Model network = Networks.LENET.create(WorkspaceMode.NONE);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        network, MemOptConfig.builder().budget("1 GiB").build()))
                .withMessageContaining("WorkspaceMode.NONE");
    }

    @Test
    void settingsThatTheBudgetChooses_areRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOptConfig.builder()
                        .budget("1 GiB")
                        .reuse(Reuse.SIZED)
                        .build())
                .withMessageContaining("reuse=SIZED");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        MemOptConfig.builder().budget("1 GiB").microBatch(4).build())
                .withMessageContaining("microBatch=4");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        MemOptConfig.builder().exactness(Exactness.REORDERED).build())
                .withMessageContaining("no budget");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOptConfig.builder().budget(1.5))
                .withMessageContaining("1.5");
    }

    @Test
    void freeMemory_isTheLeastOfAllLimits() {
        MemoryLimits limits = new MemoryLimits(
                OptionalLong.of(1000),
                OptionalLong.of(800),
                OptionalLong.of(100),
                OptionalLong.empty(),
                OptionalLong.of(700));

        assertThat(FreeMemory.host(limits, 200, OptionalLong.of(900), 50)).isEqualTo(450);
        assertThat(FreeMemory.host(limits, 200, OptionalLong.of(300), 50)).isEqualTo(250);
        assertThat(FreeMemory.host(limits, 720, OptionalLong.of(900), 50)).isZero();
        assertThat(FreeMemory.bytes()).isPositive();
    }

    private static BudgetReport train(Networks network, MemOptConfig.Builder config) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = network.create(WorkspaceMode.ENABLED);
        DataSet data = network.data(BATCH, 0);
        try (MemOpt memopt = MemOpt.attach(model, config.build())) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, data);
            }
            return memopt.budget().orElseThrow();
        }
    }
}
