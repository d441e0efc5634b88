// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.PendingFrees;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.analysis.Exactness;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.testing.Networks;
import io.memopt.verify.MemoryAssertions;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Budgets from 100 % down to 25 % of what plain training takes, on networks of a real size: each is met, within 5 % of the predicted
 * peak, or refused with the least that can be met.
 */
@Tag("soak")
class BudgetSweepTest {
    private static final int ITERATIONS = 6;
    private static final int MOST_WAITS = 5000;
    private static final int[] PERCENT = {100, 85, 70, 55, 40, 25};

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(ReferenceNetworks.class)
    void everyBudget_isMetOrRefused(ReferenceNetworks network) {
        DataSet data = network.data(0);
        long plain = MemoryAssertions.assertThatMemory(network.create())
                .whileFitting(data, ITERATIONS)
                .figures()
                .promptPeakBytes();
        System.out.printf(Locale.ROOT, "%s: plain %.1f MB%n", network, plain / 1e6);
        for (Exactness loosest : new Exactness[] {Exactness.BITWISE, Exactness.REORDERED}) {
            for (int percent : PERCENT) {
                train(network, data, plain * percent / 100, loosest, percent);
            }
        }
    }

    /** Planned, checkpointed, and with one unfolded input at a time. */
    @Test
    void vggLike_atItsLeastBudget_hasLessThanTwoFifthsOfTheWorkspaceBytes() {
        ReferenceNetworks network = ReferenceNetworks.VGG_LIKE;
        long plain = blockBytes(network, MemOptConfig.defaults());
        long least = catchThrowableOfType(
                        BudgetException.class,
                        () -> blockBytes(
                                network, MemOptConfig.builder().budget("1 MiB").build()))
                .leastBytes();
        long tight =
                blockBytes(network, MemOptConfig.builder().budget(least + " B").build());

        System.out.printf(
                Locale.ROOT,
                "VGG-like batch 32, workspaces: plain %.2f MB, at the least budget %.2f, %.1f %% less%n",
                plain / 1e6,
                tight / 1e6,
                100 - 100.0 * tight / plain);
        assertThat(tight).isLessThan(plain * 2 / 5);
    }

    private static long blockBytes(ReferenceNetworks network, MemOptConfig config) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        collect();
        Model model = network.create();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            MemoryLedger ledger = MemoryHooks.recording().ledger();
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, network.data(0));
            }
            assertThat(memopt.isActive()).isTrue();
            return ledger.reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);
        }
    }

    private static void train(ReferenceNetworks network, DataSet data, long limit, Exactness loosest, int percent) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = network.create();
        float[] before = parameters(model);
        collect();
        MemOptConfig config =
                MemOptConfig.builder().budget(limit + " B").exactness(loosest).build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, data);
            }
            BudgetReport report = memopt.budget().orElseThrow();
            long actual = report.actualPeakBytes().orElseThrow();
            System.out.printf(
                    Locale.ROOT,
                    "  %3d %% %s: %s; predicted %.1f MB, actual %.1f, deciding %.1f in %.1f s%n",
                    percent,
                    loosest,
                    report.chosen().strategy(),
                    report.chosen().peakBytes() / 1e6,
                    actual / 1e6,
                    report.decidingBytes() / 1e6,
                    report.decidingMillis() / 1000);
            assertThat(actual).isLessThanOrEqualTo(limit);
            assertThat(actual).isCloseTo(report.chosen().peakBytes(), withinPercentage(5));
        } catch (BudgetException e) {
            System.out.printf(
                    Locale.ROOT, "  %3d %% %s: refused, least %.1f MB%n", percent, loosest, e.leastBytes() / 1e6);
            assertThat(e.limitBytes()).isEqualTo(limit);
            assertThat(e.leastBytes()).isGreaterThan(limit);
            assertThat(parameters(model)).isEqualTo(before);
        }
    }

    private static float[] parameters(Model model) {
        try (INDArray copy = model.params().dup()) {
            return copy.data().asFloat();
        }
    }

    /** What earlier networks left, and weights that this one was made with, must not go while it is measured, nor unseen before. */
    private static void collect() {
        MemoryHooks.install();
        for (int round = 0; round < 2; round++) {
            System.gc();
            for (int waits = 0; PendingFrees.count().orElse(0) > 0 && waits < MOST_WAITS; waits++) {
                LockSupport.parkNanos(2_000_000);
            }
        }
    }
}
