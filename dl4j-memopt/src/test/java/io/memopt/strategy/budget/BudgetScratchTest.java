// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.SimulatedEngine;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A budget shares what there is between workspaces and the scratch memory of convolutions, which takes the place of cuDNN's here. */
class BudgetScratchTest {
    private static final int BATCH = 8;
    private static final int ITERATIONS = 4;
    /** So that it is a large part of what the small networks here take. */
    private static final long BYTES_PER_ELEMENT = 64;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private record Run(BudgetReport report, INDArray parameters) {}

    private Run train(Networks each, MemOptConfig config) {
        forgetSizes();
        Nd4j.getRandom().setSeed(7);
        Model model = each.create(WorkspaceMode.ENABLED);
        DataSet data = each.data(BATCH, 0);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            SimulatedEngine.use(memopt, model, BYTES_PER_ELEMENT);
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, data);
            }
            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(memopt.summary().toJson().replace(" ", ""))
                    .contains("\"scratchBytes\":" + report.chosen().scratchBytes());
            return new Run(report, model.params().dup());
        }
    }

    private Run within(Networks each, long bytes) {
        return train(each, MemOptConfig.builder().budget(bytes + " B").build());
    }

    private long least(Networks each) {
        return catchThrowableOfType(BudgetException.class, () -> within(each, 1000))
                .leastBytes();
    }

    private static void assertMet(BudgetReport report) {
        assertThat(report.actualPeakBytes().orElseThrow()).as("%s", report).isLessThanOrEqualTo(report.limitBytes());
        assertThat(report.decidingBytes()).as("%s", report).isLessThanOrEqualTo(report.limitBytes());
        assertThat(report.chosen().strategy()).contains("convolutions");
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG", "RESIDUAL_GRAPH"})
    void budgets_areMetWithLessAndLessScratch_andTheSameBits(Networks each) {
        Run ample = within(each, 1L << 30);
        long all = ample.report().chosen().scratchBytes();
        assertThat(ample.report().chosen().reuse()).isEqualTo(Reuse.RELEASED);
        assertThat(all).isPositive();
        assertMet(ample.report());
        assertThat(ample.report().actualPeakBytes().orElseThrow())
                .isBetween(
                        ample.report().chosen().peakBytes() - all / 2,
                        ample.report().limitBytes());
        long most = all;
        for (long limit = ample.report().chosen().peakBytes() - 1; limit > least(each); limit /= 2) {
            Run run = within(each, limit);

            assertMet(run.report());
            assertThat(run.report().chosen().scratchBytes()).isLessThanOrEqualTo(most);
            most = run.report().chosen().reuse() == Reuse.PLANNED
                    ? all
                    : run.report().chosen().scratchBytes();
            assertThat(ArrayBits.equal(run.parameters(), ample.parameters())).isTrue();
        }
        Run smallest = within(each, least(each));
        assertMet(smallest.report());
        assertThat(ArrayBits.equal(smallest.parameters(), ample.parameters())).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG"})
    void rememberedChoice_keepsItsScratch(Networks each, @TempDir Path folder) {
        long limit = within(each, 1L << 30).report().chosen().peakBytes() * 2 / 3;
        MemOptConfig config = MemOptConfig.builder()
                .budget(limit + " B")
                .budgetProfile(folder.resolve("budgets.json"))
                .build();
        BudgetReport decided = train(each, config).report();

        BudgetReport again = train(each, config).report();

        assertThat(again.remembered()).isTrue();
        assertThat(again.chosen()).isEqualTo(decided.chosen());
        assertMet(again);
    }
}
