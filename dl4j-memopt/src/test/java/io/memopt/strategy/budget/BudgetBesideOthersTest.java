// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.memopt.ErrorLog;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Workspaces and arenas that inference and other networks of the thread use, too, change neither decisions nor what is taken. */
class BudgetBesideOthersTest {
    private static final int BATCH = 8;
    private static final int LARGE = 48;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private static MemOptConfig budget(long bytes) {
        return MemOptConfig.builder().budget(bytes + " B").build();
    }

    private static long least(Model network, DataSet data) {
        try (MemOpt memopt = MemOpt.attach(network, budget(1000))) {
            return catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(data))
                    .leastBytes();
        }
    }

    private static void infer(Model network, DataSet data) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.output(data.getFeatures());
        } else {
            ((ComputationGraph) network).output(data.getFeatures());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH"})
    void inferenceAndTrainingBefore_changeNoLeastBudget(Networks each) {
        DataSet data = each.data(BATCH, 0);
        long alone = least(each.create(WorkspaceMode.ENABLED), data);

        Model network = each.create(WorkspaceMode.ENABLED);
        infer(network, each.data(LARGE, 1));
        Model stranger = each.create(WorkspaceMode.ENABLED);
        Networks.fit(stranger, each.data(LARGE, 2));
        Networks.fit(stranger, each.data(LARGE, 2));

        assertThat(least(network, data)).isCloseTo(alone, withinPercentage(1)); // cuts go by times
        try (MemOpt memopt = MemOpt.attach(network, budget(alone * 102 / 100))) {
            Networks.fit(network, data);
            Networks.fit(network, data);

            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
        }
    }

    /** With planned workspaces, whose arena inference has grow, and with plain ones. */
    @ParameterizedTest
    @ValueSource(ints = {102, 400})
    void inferenceBetweenIterations_leavesTheBudgetKept(int percent) {
        Networks each = Networks.LENET;
        DataSet data = each.data(BATCH, 0);
        DataSet evaluated = each.data(4 * LARGE, 1);
        long limit = least(each.create(WorkspaceMode.ENABLED), data) * percent / 100;
        Model network = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(network, budget(limit))) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(network, data);
                infer(network, evaluated);
                infer(network, evaluated);
            }
            Networks.fit(network, data);

            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.chosen().reuse()).isEqualTo(percent > 200 ? Reuse.RELEASED : Reuse.PLANNED);
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(limit);
        }
    }

    /** Those of the user, garbage of a network that nobody attached, and workspaces of another thread. */
    @Test
    void arraysThatOthersMakeBetweenIterations_areNotCounted() {
        Networks each = Networks.LENET;
        DataSet data = each.data(BATCH, 0);
        long limit = least(each.create(WorkspaceMode.ENABLED), data) * 102 / 100;
        Model network = each.create(WorkspaceMode.ENABLED);
        Model stranger = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(network, budget(limit))) {
            List<INDArray> kept = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Networks.fit(network, data);
                Networks.fit(stranger, data);
                kept.add(Nd4j.create(DataType.INT8, limit / 8));
                CompletableFuture.runAsync(() -> Networks.fit(stranger, data)).join();
            }

            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.actualPeakBytes().orElseThrow()).isBetween(limit / 2, limit);
            assertThat(kept).hasSize(4);
        }
    }

    /** Programs that hold one minibatch throughout are in other tests. */
    @Test
    void minibatchesThatAreMadeForEachIteration_areCountedOnce() {
        Networks each = Networks.VGG;
        long least = least(each.create(WorkspaceMode.ENABLED), each.data(BATCH, 0));
        Model network = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(network, budget(least * 102 / 100))) {
            List<DataSet> fed = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                fed.add(each.data(BATCH, i));
                Networks.fit(network, fed.get(i));
            }

            BudgetReport report = memopt.budget().orElseThrow();
            long minibatch = fed.get(0).getFeatures().length() * Float.BYTES;
            assertThat(report.actualPeakBytes().orElseThrow())
                    .isBetween(report.chosen().peakBytes() - minibatch / 2, report.limitBytes());
        }
    }

    /** The arena of the first is not there for the second to be decided in. */
    @Test
    void secondNetwork_isRefusedAsItIsAlone() {
        DataSet data = Networks.RESIDUAL_GRAPH.data(BATCH, 0);
        long alone = least(Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED), data);
        Model first = Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet images = Networks.LENET.data(BATCH, 0);
        long limit = least(first, images) * 105 / 100;
        try (MemOpt planned = MemOpt.attach(first, budget(limit))) {
            Networks.fit(first, images);
            Networks.fit(first, images);
            Model second = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);

            try (MemOpt tight = MemOpt.attach(second, budget(alone * 3 / 4))) {
                assertThatExceptionOfType(BudgetException.class).isThrownBy(() -> Networks.fit(second, data));
            }
            try (MemOpt enough = MemOpt.attach(second, budget(alone * 102 / 100))) {
                for (int i = 0; i < 2; i++) {
                    Networks.fit(second, data);
                    Networks.fit(first, images);
                }

                BudgetReport report = enough.budget().orElseThrow();
                assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
                assertThat(planned.budget().orElseThrow().actualPeakBytes().orElseThrow())
                        .isLessThanOrEqualTo(limit);
            }
        }
    }

    /** Plans that begin later do not serve a network that has chosen plain workspaces. */
    @Test
    void plansThatBeginLater_areNotThoseOfAPlainChoice() {
        Model plain = Networks.LENET.create(WorkspaceMode.ENABLED);
        Model planned = Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(BATCH, 0);
        try (MemOpt first = MemOpt.attach(plain, budget(1L << 30))) {
            Networks.fit(plain, data);
            try (MemOpt second = MemOpt.attach(
                    planned, MemOptConfig.builder().reuse(Reuse.PLANNED).build())) {
                second.rehearse(data);
                for (int i = 0; i < 3; i++) {
                    Networks.fit(plain, data);
                    Networks.fit(planned, data);
                }
                assertThat(first.budget().orElseThrow().chosen().reuse()).isEqualTo(Reuse.RELEASED);
                assertThat(String.join(" ", second.summary().notes())).contains("3 passes served, 0 missed");
            }
        }
    }

    /** Of an epoch's end, say. */
    @Test
    void fewExamplesFirst_areTrained_andTheNextMinibatchDecides() {
        Networks each = Networks.LENET;
        Model network = each.create(WorkspaceMode.ENABLED);
        Model twin = each.create(WorkspaceMode.ENABLED);
        String log = ErrorLog.of(() -> {
            try (MemOpt memopt = MemOpt.attach(network, budget(1L << 30))) {
                for (int batch : new int[] {2, 1, BATCH, 1}) {
                    assertThat(memopt.budget().isPresent()).isEqualTo(false);
                    Networks.fit(network, each.data(batch, batch));
                    Networks.fit(twin, each.data(batch, batch));
                    if (batch == BATCH) {
                        assertThat(memopt.budget()).isPresent();
                        break;
                    }
                }
            }
        });

        assertThat(log).containsOnlyOnce("begins with a minibatch of 2 examples");
        assertThat(network.params()).isEqualTo(twin.params());
    }
}
