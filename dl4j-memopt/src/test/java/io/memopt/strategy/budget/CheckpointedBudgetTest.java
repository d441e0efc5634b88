// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Budgets below what all activations take are met by checkpoints, in chains and in graphs. */
class CheckpointedBudgetTest {
    private static final int ITERATIONS = 3;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    /** Activations are most of it. */
    @ParameterizedTest
    @EnumSource
    void leastBudget_isMetByCheckpointsOnly_andChangesNoBit(DeepNetworks each) {
        int batch = 256;
        int width = 32;
        Supplier<Model> networks = () -> each.create(width);
        DataSet data = DeepNetworks.data(batch, width, 0);
        long least = leastBytes(networks, data);

        BudgetReport report = train(networks, data, least);

        assertThat(report.chosen().cuts()).isNotEmpty();
        assertThat(uncut(report)).isNotEmpty().allMatch(row -> row.peakBytes() > least * 5 / 4);
        long array = (long) batch * width * Float.BYTES;
        assertThat(report.actualPeakBytes().orElseThrow()).isBetween(least - array * 5 / 4, least);
        TwinRun.of(networks, i -> DeepNetworks.data(batch, width, i))
                .iterations(4)
                .compare(model -> MemOpt.attach(model, budget(least)))
                .requireBitwise();
    }

    /** Parameters are most of it, and an update could need more room than activations have. */
    @ParameterizedTest
    @EnumSource
    void leastBudgetOfManyParameters_isWhatTrainingTakes(DeepNetworks each) {
        Supplier<Model> networks = () -> each.create(96);
        DataSet data = DeepNetworks.data(64, 96, 0);

        takesWhatWasPredicted(networks, data, leastBytes(networks, data));
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource
    void everyWayOfTheFront_takesWhatWasPredicted(DeepNetworks each) {
        Supplier<Model> networks = () -> each.create(96);
        DataSet data = DeepNetworks.data(64, 96, 0);

        long least = leastBytes(networks, data);

        List<BudgetRow> front = train(networks, data, least).front();

        assertThat(front).anyMatch(row -> !row.cuts().isEmpty());
        // A cut that depends on times may take a few bytes less than the least, and not be there the next time.
        front.forEach(row -> takesWhatWasPredicted(networks, data, Math.max(least, row.peakBytes())));
    }

    private static void takesWhatWasPredicted(Supplier<Model> networks, DataSet data, long bytes) {
        BudgetReport report = train(networks, data, bytes);

        assertThat(report.actualPeakBytes().orElseThrow())
                .as("%s", report)
                .isLessThanOrEqualTo(bytes)
                .isCloseTo(report.chosen().peakBytes(), withinPercentage(3));
    }

    @Tag("soak")
    @Test
    void resNet50_takesLessThanWithAllActivations_andChangesNoBit() {
        ReferenceNetworks network = ReferenceNetworks.RESNET50;
        long least = leastBytes(network::create, network.data(0));

        BudgetReport report = train(network::create, network.data(0), least);

        System.out.printf(Locale.ROOT, "zoo ResNet50 at 96x96, minibatches of 4:%n%s%n", report);
        assertThat(report.chosen().cuts()).isNotEmpty();
        assertThat(uncut(report)).isNotEmpty().allMatch(row -> row.peakBytes() > least);
        assertThat(report.actualPeakBytes().orElseThrow())
                .isLessThanOrEqualTo(least)
                .isCloseTo(least, withinPercentage(2));
        TwinRun.of(network::create, network::data)
                .iterations(ITERATIONS)
                .compare(model -> MemOpt.attach(model, budget(least)))
                .requireBitwise();
    }

    private static List<BudgetRow> uncut(BudgetReport report) {
        return report.front().stream().filter(row -> row.cuts().isEmpty()).toList();
    }

    private static MemOptConfig budget(long bytes) {
        return MemOptConfig.builder().budget(bytes + " B").build();
    }

    private static long leastBytes(Supplier<Model> networks, DataSet data) {
        Model model = networks.get();
        try (MemOpt memopt = MemOpt.attach(model, budget(1024))) {
            return catchThrowableOfType(BudgetException.class, () -> Networks.fit(model, data))
                    .leastBytes();
        }
    }

    private static BudgetReport train(Supplier<Model> networks, DataSet data, long bytes) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = networks.get();
        try (MemOpt memopt = MemOpt.attach(model, budget(bytes))) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, data);
            }
            return memopt.budget().orElseThrow();
        }
    }
}
