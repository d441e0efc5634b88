// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.ErrorLog;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.SimulatedEngine;
import io.memopt.allocator.cudnn.SimulatedScratch;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.testing.Networks;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** A budget shares what there is between workspaces and the scratch memory of convolutions, which takes the place of cuDNN's here. */
class BudgetScratchTest {
    private static final int BATCH = 8;
    private static final int ITERATIONS = 4;
    /** So that it is a large part of what the small networks here take. */
    private static final long BYTES_PER_ELEMENT = 64;

    /** Gradients of weights whose sums are added in another order. */
    private static final double BOUND = 1e-3;

    /** Each training begins with it too. */
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    /**
     * What came of it.
     *
     * @param heldBytes most that scratch memory took beside workspaces or arena, once it was decided
     * @param limits of scratch memory, in their order
     */
    private record Run(BudgetReport report, INDArray parameters, long heldBytes, List<Long> limits) {
        private BudgetRow chosen() {
            return report.chosen();
        }
    }

    private Run train(Model model, List<DataSet> data, MemOptConfig config, long leastPerElement) {
        forgetSizes();
        Nd4j.getRandom().setSeed(7);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            SimulatedScratch scratch = SimulatedEngine.use(memopt, model, BYTES_PER_ELEMENT, leastPerElement);
            data.forEach(minibatch -> Networks.fit(model, minibatch));
            return new Run(
                    memopt.budget().orElseThrow(),
                    model.params().dup(),
                    scratch.mostHeldBytes(),
                    List.copyOf(scratch.limits()));
        }
    }

    private static MemOptConfig budget(long bytes) {
        return MemOptConfig.builder().budget(bytes + " B").build();
    }

    private Run within(Networks each, long bytes, long leastPerElement) {
        return train(
                each.create(WorkspaceMode.ENABLED),
                Collections.nCopies(ITERATIONS, each.data(BATCH, 0)),
                budget(bytes),
                leastPerElement);
    }

    private long least(Networks each, long leastPerElement) {
        return catchThrowableOfType(BudgetException.class, () -> within(each, 1000, leastPerElement))
                .leastBytes();
    }

    private static void assertMet(Run run) {
        BudgetReport report = run.report();
        assertThat(report.actualPeakBytes().orElseThrow()).as("%s", report).isLessThanOrEqualTo(report.limitBytes());
        assertThat(report.decidingBytes()).as("%s", report).isLessThanOrEqualTo(report.limitBytes());
        assertThat(run.heldBytes()).isLessThanOrEqualTo(run.chosen().scratchAloneBytes());
        assertThat(run.chosen().strategy()).contains("convolutions");
    }

    /** Ways that were not measured for such minibatches yet are, beside the state of the updater: that may take more than the budget for once. */
    @Test
    void largerMinibatch_isDecidedFor_evenIfMeasuringItsConvolutionsTakesMore() {
        Networks each = Networks.LENET;
        long limit = least(each, 0);
        List<DataSet> data = new ArrayList<>(Collections.nCopies(2, each.data(BATCH / 2, 0)));
        data.addAll(Collections.nCopies(ITERATIONS, each.data(BATCH, 0)));
        AtomicReference<BudgetReport> report = new AtomicReference<>();

        String log = ErrorLog.of(() -> report.set(train(each.create(WorkspaceMode.ENABLED), data, budget(limit), 0)
                .report()));

        assertThat(report.get().batch()).isEqualTo(BATCH);
        assertThat(report.get().actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(limit);
        assertThat(report.get().decidingBytes()).isGreaterThan(limit);
        assertThat(log).containsOnlyOnce("from now on it is kept");
    }

    /** A limit of scratch memory decides which way a convolution goes, and nothing else does. */
    @ParameterizedTest
    @CsvSource({"LENET, 0", "VGG, 4", "RESIDUAL_GRAPH, 16"})
    void budgets_areMetDownToTheLeast_andEqualScratchGivesEqualBits(Networks each, long leastPerElement) {
        Run ample = within(each, 1L << 30, leastPerElement);
        long least = least(each, leastPerElement);
        Map<Long, INDArray> byScratch = new HashMap<>();
        byScratch.put(ample.chosen().scratchBytes(), ample.parameters());
        assertMet(ample);
        assertThat(ample.chosen().reuse()).isEqualTo(Reuse.RELEASED);
        assertThat(ample.chosen().scratchAloneBytes())
                .isEqualTo(ample.chosen().scratchBytes())
                .isEqualTo(ample.heldBytes());

        long limit = ample.chosen().peakBytes() - 1;
        boolean last = false;
        while (!last) {
            last = limit <= least;
            Run run = within(each, Math.max(limit, least), leastPerElement);
            assertMet(run);
            INDArray same = byScratch.putIfAbsent(run.chosen().scratchBytes(), run.parameters());
            assertThat(same == null || ArrayBits.equal(run.parameters(), same)).isTrue();
            assertThat(run.parameters().distance2(ample.parameters())).isLessThan(BOUND);
            limit = limit / 2;
        }
        assertThat(byScratch.keySet()).hasSizeGreaterThan(1);
    }

    /** A smaller last minibatch has convolutions that nobody measured, and gaps in its arena that nobody counted on. */
    @ParameterizedTest
    @CsvSource({"LENET, 0", "RESIDUAL_GRAPH, 16"})
    void minibatchesOfOtherSizes_takeNoMoreScratchThanWasCounted(Networks each, long leastPerElement) {
        long limit = peakOfMostScratch(within(each, 1L << 30, leastPerElement), Reuse.PLANNED);
        List<DataSet> data = new ArrayList<>();
        for (int batch : new int[] {BATCH, BATCH, 5, 3, 7, BATCH, 2, 6, BATCH}) {
            data.add(each.data(batch, batch));
        }

        Run run = train(each.create(WorkspaceMode.ENABLED), data, budget(limit), leastPerElement);

        assertMet(run);
        assertThat(run.chosen().reuse()).isEqualTo(Reuse.PLANNED);
    }

    private static long peakOfMostScratch(Run run, Reuse reuse) {
        return run.report().front().stream()
                .filter(row -> row.reuse() == reuse)
                .max((one, other) -> Long.compare(one.scratchBytes(), other.scratchBytes()))
                .orElseThrow()
                .peakBytes();
    }

    /** Passes with a few examples of it have no arena, and plans are proved with the same ways throughout. */
    @Test
    void imagesOfAnotherSize_areRehearsedWithTheLeastScratch() {
        Networks each = Networks.RESIDUAL_GRAPH;
        long limit = peakOfMostScratch(within(each, 1L << 30, 0), Reuse.PLANNED);
        List<DataSet> data = new ArrayList<>();
        data.add(each.data(BATCH, 0));
        for (int size : new int[] {12, 9, 12, 9}) {
            data.add(new DataSet(
                    Nd4j.rand(BATCH, 3, size, size), each.data(BATCH, 0).getLabels()));
        }

        Run run = train(each.create(WorkspaceMode.ENABLED), data, budget(limit), 0);

        assertMet(run);
        long chosen = run.chosen().scratchBytes();
        assertThat(run.limits()).endsWith(0L, chosen, 0L, chosen, 0L, chosen);
    }

    /** The arrays of a convolution lie beside the network's own while it is measured. */
    @Test
    void convolutionOfMostOfTheParameters_isNotMeasuredBeyondTheBudget() {
        List<DataSet> data =
                Collections.nCopies(ITERATIONS, new DataSet(Nd4j.rand(BATCH, 32, 4, 4), Nd4j.rand(BATCH, 2)));
        long least = catchThrowableOfType(BudgetException.class, () -> train(wide(), data, budget(1000), 1))
                .leastBytes();

        assertMet(train(wide(), data, budget(least), 1));
    }

    private static Model wide() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Nesterovs(0.01))
                .convolutionMode(ConvolutionMode.Same)
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(256).build())
                .layer(new GlobalPoolingLayer())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(2)
                        .build())
                .setInputType(InputType.convolutional(4, 4, 32))
                .build());
        network.init();
        return network;
    }

    /** All networks share one engine. */
    @Test
    void networkWithoutConvolutions_leavesScratchToOthers() {
        Networks each = Networks.LSTM_TEXT;

        Run run = train(each.create(WorkspaceMode.ENABLED), List.of(each.data(BATCH, 0)), budget(1L << 30), 0);

        assertThat(run.chosen().scratchBytes()).isEqualTo(Way.NO_SCRATCH);
        assertThat(run.limits()).startsWith(0L).endsWith(NetworkScratch.UNLIMITED);
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG"})
    void rememberedChoice_keepsItsScratch_whileTheLibraryIsTheSame(Networks each, @TempDir Path folder) {
        long limit = within(each, 1L << 30, 0).chosen().peakBytes() * 2 / 3;
        MemOptConfig config = MemOptConfig.builder()
                .budget(limit + " B")
                .budgetProfile(folder.resolve("budgets.json"))
                .build();
        List<DataSet> data = Collections.nCopies(ITERATIONS, each.data(BATCH, 0));
        BudgetReport decided =
                train(each.create(WorkspaceMode.ENABLED), data, config, 0).report();

        Run again = train(each.create(WorkspaceMode.ENABLED), data, config, 0);
        BudgetReport another =
                train(each.create(WorkspaceMode.ENABLED), data, config, 1).report();

        assertThat(again.report().remembered()).isTrue();
        assertThat(again.chosen()).isEqualTo(decided.chosen());
        assertMet(again);
        assertThat(another.remembered()).isFalse();
    }
}
