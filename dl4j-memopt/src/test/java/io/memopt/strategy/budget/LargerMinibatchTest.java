// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.ErrorLog;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.guard.OutOfMemory;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.SolverAccess;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.preprocessor.BaseInputPreProcessor;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** A budget goes on to hold when minibatches grow, as long as it can. */
class LargerMinibatchTest {
    /** The last is no larger than the one before. */
    private static final int[] BATCHES = {6, 6, 9, 9, 14, 9, 14};

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private static IntFunction<DataSet> growing(Networks each) {
        return each == Networks.LSTM_TEXT
                ? i -> each.data(16, i) // five lengths, the first is the shortest
                : i -> each.data(BATCHES[i % BATCHES.length], i);
    }

    private static DataSet largest(Networks each) {
        return each == Networks.LSTM_TEXT ? each.data(16, 4) : each.data(14, 4);
    }

    private static long leastOf(Networks each, DataSet minibatch) {
        return least(each, minibatch, Exactness.BITWISE);
    }

    /** Of the largest minibatch alone. */
    private static long least(Networks each, Exactness loosest) {
        return least(each, largest(each), loosest);
    }

    private static long least(Networks each, DataSet minibatch, Exactness loosest) {
        try (MemOpt memopt = MemOpt.attach(
                each.create(WorkspaceMode.ENABLED), budget(1000, loosest).build())) {
            return catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(minibatch))
                    .leastBytes();
        } finally {
            MemoryHooks.uninstall();
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        }
    }

    private static MemOptConfig.Builder budget(long bytes, Exactness loosest) {
        return MemOptConfig.builder().budget(bytes + " B").exactness(loosest);
    }

    private static List<BudgetReport> train(Networks each, MemOptConfig config) {
        Model network = each.create(WorkspaceMode.ENABLED);
        List<DataSet> data = IntStream.range(0, 7).mapToObj(growing(each)).toList();
        List<BudgetReport> reports = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (DataSet minibatch : data) {
                Networks.fit(network, minibatch);
                reports.add(memopt.budget().orElseThrow());
            }
        }
        return reports;
    }

    @ParameterizedTest
    @CsvSource({
        "LENET, BITWISE, 102",
        "RESIDUAL_GRAPH, BITWISE, 102",
        "LENET, REORDERED, 140",
        "LSTM_TEXT, REORDERED, 102"
    })
    void largerMinibatches_areDecidedForAnew_withinTheBudget(Networks each, Exactness loosest, int percent) {
        long least = least(each, loosest);
        List<BudgetReport> reports = new ArrayList<>();

        String log = ErrorLog.of(() -> reports.addAll(
                train(each, budget(least * percent / 100, loosest).build())));

        assertThat(log).doesNotContain("does not hold");
        assertThat(reports.stream().map(BudgetReport::decidingMillis).distinct())
                .hasSize(each == Networks.LSTM_TEXT ? 5 : 3);
        assertThat(reports).allSatisfy(report -> {
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
            assertThat(report.decidingBytes()).isLessThanOrEqualTo(report.limitBytes());
        });
    }

    @ParameterizedTest
    @CsvSource({"LENET, 100", "RESIDUAL_GRAPH, 103", "LSTM_TEXT, 103"})
    void decisionsAmidTraining_changeNoBit(Networks each, int percent) {
        long limit = least(each, Exactness.BITWISE) * percent / 100;

        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), growing(each))
                .iterations(7)
                .compare(model ->
                        MemOpt.attach(model, budget(limit, Exactness.BITWISE).build()))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH"})
    void largerMinibatchThatCannotBeMet_isTrainedAsBefore_andTold(Networks each) {
        IntFunction<DataSet> growing = growing(each);
        long limit = leastOf(each, growing.apply(0));
        List<BudgetReport> reports = new ArrayList<>();

        String log = ErrorLog.of(() -> TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), growing)
                .iterations(7)
                .compare(model -> {
                    MemOpt memopt = MemOpt.attach(
                            model, budget(limit, Exactness.BITWISE).build());
                    return () -> {
                        reports.add(memopt.budget().orElseThrow());
                        memopt.close();
                    };
                })
                .requireBitwise());

        assertThat(log)
                .containsOnlyOnce("does not hold")
                .contains("does not hold. ")
                .doesNotContain("cannot be decided");
        assertThat(reports).singleElement().satisfies(report -> {
            assertThat(report.batch()).isLessThan(14);
            assertThat(report.chosen().reuse()).isEqualTo(Reuse.PLANNED);
        });
    }

    /** Of two minibatches of an update the second is the larger one: it is decided for when the next update begins. */
    @Test
    void gatheredGradients_areNotLost() {
        Networks each = Networks.LENET;
        long limit = least(each, Exactness.BITWISE) * 2;

        float[] expected = gathered(each, MemOptConfig.builder().accumulate(2).build());
        String log = ErrorLog.of(() -> assertThat(gathered(
                        each, budget(limit, Exactness.BITWISE).accumulate(2).build()))
                .isEqualTo(expected));

        assertThat(log).doesNotContain("are dropped");
    }

    private static float[] gathered(Networks each, MemOptConfig config) {
        Model network = each.create(WorkspaceMode.ENABLED);
        Nd4j.getRandom().setSeed(7);
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (int i = 0; i < 8; i++) {
                Networks.fit(network, growing(each).apply(i + 1));
            }
            assertThat(memopt.isActive()).isTrue();
        }
        return network.params().dup().data().asFloat();
    }

    @Test
    void guardedTraining_isDecidedForAnew_bitForBit(@TempDir Path folder) {
        Networks each = Networks.LENET;
        long limit = least(each, Exactness.BITWISE) * 2;

        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), growing(each))
                .iterations(7)
                .compare(model -> MemOpt.attach(
                        model,
                        budget(limit, Exactness.BITWISE)
                                .outOfMemory(OutOfMemory.GUARD)
                                .postMortems(folder)
                                .build()))
                .requireBitwise();
    }

    /** Three examples of the larger minibatch cannot be computed. */
    @Test
    void unforeseenFailure_leavesTheEarlierDecision() {
        MultiLayerNetwork network = fragile();
        String log = ErrorLog.of(() -> {
            try (MemOpt memopt = MemOpt.attach(
                    network, MemOptConfig.builder().budget("1 GiB").build())) {
                network.fit(new DataSet(Nd4j.ones(8, 8), Nd4j.ones(8, 2)));
                for (int i = 0; i < 2; i++) {
                    network.fit(new DataSet(Nd4j.ones(9, 8).mul(Fragile.NUMBER), Nd4j.ones(9, 2)));
                }

                assertThat(memopt.budget().orElseThrow().batch()).isEqualTo(8);
            }
        });

        assertThat(network.getIterationCount()).isEqualTo(3);
        assertThat(log).containsOnlyOnce("cannot be decided for minibatches of FLOAT[9, 8]");
    }

    /** Whatever is thrown, the step that was there is there. */
    @Test
    void error_amidADecision_leavesTheEarlierStep() {
        MultiLayerNetwork network = fragile();
        DataSet larger = new DataSet(Nd4j.ones(9, 8).mul(Fragile.FATAL), Nd4j.ones(9, 2));
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().budget("1 GiB").build())) {
            network.fit(new DataSet(Nd4j.ones(8, 8), Nd4j.ones(8, 2)));
            Class<?> step =
                    Objects.requireNonNull(SolverAccess.current(network)).getClass();

            assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> network.fit(larger));

            assertThat(SolverAccess.current(network)).isInstanceOf(step);
            network.fit(larger);
            assertThat(memopt.budget().orElseThrow().batch()).isEqualTo(8);
        }
    }

    /** The state of the updater is in memory, from where only an update would move it. */
    @Test
    void stateInMemory_isNotCountedAsInAFile(@TempDir Path folder) {
        Networks each = Networks.LENET;
        Model sample = each.create(WorkspaceMode.ENABLED);
        long limit;
        try (MemOpt memopt = MemOpt.attach(
                sample,
                budget(1000, Exactness.BITWISE).offloadUpdaterState(folder).build())) {
            limit = catchThrowableOfType(
                                    BudgetException.class,
                                    () -> memopt.rehearse(growing(each).apply(2)))
                            .leastBytes()
                    * 11
                    / 10;
        }
        List<BudgetReport> reports = new ArrayList<>();

        String log = ErrorLog.of(() -> reports.addAll(train(
                each,
                budget(limit, Exactness.BITWISE).offloadUpdaterState(folder).build())));

        assertThat(reports)
                .allSatisfy(report -> assertThat(log.contains("does not hold")
                                || report.actualPeakBytes().orElseThrow() <= limit)
                        .isTrue());
    }

    /** Frozen layers do not write their gradients, of which nothing may be left. */
    @Test
    void frozenLayers_stayAsTheyAre() {
        TwinRun.of(
                        LargerMinibatchTest::frozen,
                        i -> new DataSet(Nd4j.ones(i < 2 ? 6 : 9, 8).mul(0.1 * i), Nd4j.ones(i < 2 ? 6 : 9, 2)))
                .iterations(5)
                .compare(model -> MemOpt.attach(
                        model, MemOptConfig.builder().budget("1 GiB").build()))
                .requireBitwise();
    }

    private static MultiLayerNetwork frozen() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(1e-2))
                .l2(1e-2)
                .list()
                .layer(new FrozenLayer(new DenseLayer.Builder().nIn(8).nOut(16).build()))
                .layer(new DenseLayer.Builder().nIn(16).nOut(8).build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nIn(8)
                        .nOut(2)
                        .build())
                .build());
        network.init();
        return network;
    }

    private static MultiLayerNetwork fragile() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new DenseLayer.Builder().nIn(8).nOut(8).build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(2)
                        .build())
                .setInputType(InputType.feedForward(8))
                .inputPreProcessor(0, new Fragile())
                .build());
        network.init();
        return network;
    }

    /** Cannot compute three examples of a certain number. */
    private static final class Fragile extends BaseInputPreProcessor {
        private static final long serialVersionUID = 1;
        private static final int NUMBER = 3;
        private static final int FATAL = 4;

        @Override
        public INDArray preProcess(INDArray input, int miniBatchSize, LayerWorkspaceMgr workspaces) {
            if (input.size(0) == NUMBER && input.getInt(0) == NUMBER) {
                throw new IllegalStateException("no three examples");
            }
            if (input.size(0) == NUMBER && input.getInt(0) == FATAL) {
                throw new AssertionError("no three examples");
            }
            return workspaces.dup(ArrayType.ACTIVATIONS, input);
        }

        @Override
        public INDArray backprop(INDArray output, int miniBatchSize, LayerWorkspaceMgr workspaces) {
            return workspaces.dup(ArrayType.ACTIVATION_GRAD, output);
        }

        @Override
        public InputType getOutputType(InputType inputType) {
            return inputType;
        }
    }

    /** The way of one network does not take the plans of another. */
    @Test
    void plansOfAnotherNetwork_goOn() {
        Model planned = Networks.LENET.create(WorkspaceMode.ENABLED);
        Model other = Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(8, 0);
        try (MemOpt first = MemOpt.attach(
                        planned, MemOptConfig.builder().reuse(Reuse.PLANNED).build());
                MemOpt second = MemOpt.attach(
                        other, MemOptConfig.builder().budget("1 GiB").build())) {
            first.rehearse(data);
            for (int i = 0; i < 3; i++) {
                Networks.fit(other, data);
                Networks.fit(planned, data);
            }

            assertThat(second.budget().orElseThrow().chosen().reuse()).isEqualTo(Reuse.RELEASED);
            assertThat(planned.params()).isEqualTo(other.params());
            assertThat(String.join(" ", first.summary().notes())).contains("3 passes served, 0 missed");
        }
    }
}
