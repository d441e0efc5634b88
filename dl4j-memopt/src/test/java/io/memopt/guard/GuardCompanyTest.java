// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetException;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.precision.Precision;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.IntFunction;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A guard beside a budget, mixed precision and offload: what fails is done again, as if nothing had failed. */
class GuardCompanyTest {
    private static final int BATCH = 8;
    private static final int LARGER = 32;
    private static final int ITERATIONS = 4;
    /** Requests until a decision is done and the first iteration after it. */
    private static final int MOST_REQUESTS = 100_000;

    @TempDir
    Path folder;

    @BeforeEach
    @AfterEach
    void forgetSizes() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private MemOptConfig.Builder guarded(OutOfMemory mode) {
        return MemOptConfig.builder().outOfMemory(mode).postMortems(folder.resolve("reports"));
    }

    /** One iteration, with the random numbers of its own. */
    private static void fit(Networks each, Model model, int iteration) {
        DataSet data = each.data(BATCH, iteration);
        Nd4j.getRandom().setStates(7, iteration + 1);
        Networks.fit(model, data);
    }

    /** Trained in the way of {@code config} without failures. */
    private static Model reference(Networks each, MemOptConfig config) {
        return reference(each, i -> each.data(BATCH, i), config);
    }

    private static Model reference(Networks each, IntFunction<DataSet> data, MemOptConfig config) {
        Model model = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                DataSet its = data.apply(i);
                Nd4j.getRandom().setStates(7, i + 1);
                Networks.fit(model, its);
            }
            assertThat(memopt.isActive()).isTrue();
        }
        return model;
    }

    private static void assertSame(Model model, Model reference) {
        assertThat(bits(model.params())).isEqualTo(bits(reference.params()));
        assertThat(bits(updaterState(model))).isEqualTo(bits(updaterState(reference)));
        assertThat(model.score()).isEqualTo(reference.score());
    }

    private static byte[] bits(INDArray array) {
        return array.dup().data().asBytes();
    }

    private static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork layers
                ? layers.getUpdater(true).getStateViewArray()
                : ((ComputationGraph) model).getUpdater(true).getStateViewArray();
    }

    private static int recoveries(MemOpt memopt) {
        return note(memopt).isEmpty() ? 0 : Integer.parseInt(note(memopt).replaceAll("^(\\d+) .*", "$1"));
    }

    private static String note(MemOpt memopt) {
        return memopt.summary().notes().stream()
                .filter(note -> note.contains("ran out of memory"))
                .findFirst()
                .orElse("");
    }

    private static long least(Networks each, MemOptConfig.Builder config) {
        return least(each, BATCH, config);
    }

    private static long least(Networks each, int batch, MemOptConfig.Builder config) {
        Model model = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, config.budget("1 KB").build())) {
            return catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(each.data(batch, 0)))
                    .leastBytes();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG", "RESIDUAL_GRAPH"})
    void leastBudget_isKeptWithTheGuard_andBitsAreWithFailures(Networks each) {
        long least = least(each, guarded(OutOfMemory.RECOVER_BITWISE));
        forgetSizes();
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                guarded(OutOfMemory.RECOVER_BITWISE).budget(least + " B").build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            DataSet only = each.data(BATCH, 0); // the budget counts one minibatch
            memopt.rehearse(only);
            for (int i = 0; i < 2; i++) {
                Nd4j.getRandom().setStates(7, i + 1);
                Networks.fit(model, only);
            }
            BudgetReport report = memopt.budget().orElseThrow();
            assertThat(report.chosen().peakBytes()).isLessThanOrEqualTo(least);
            // Small arrays that wait for the Java garbage collector come on top.
            assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(least + least / 100);

            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            for (int i = 2; i < ITERATIONS; i++) {
                DataSet data = each.data(BATCH, i);
                Nd4j.getRandom().setStates(7, i + 1);
                limit.failRequest(i - 1);
                Networks.fit(model, data);
                limit.failRequest(0);
            }
            assertThat(recoveries(memopt)).isPositive();
        }
        assertSame(model, reference(each, i -> each.data(BATCH, i < 2 ? 0 : i), MemOptConfig.defaults()));
    }

    @Test
    void budget_countsTheCopyThatAGuardKeeps() {
        long plain = least(Networks.LENET, MemOptConfig.builder());
        forgetSizes();
        long guarded = least(Networks.LENET, guarded(OutOfMemory.GUARD));
        long adam = 2 * Networks.LENET.create(WorkspaceMode.ENABLED).numParams() * Float.BYTES;

        assertThat(guarded - plain).isEqualTo(adam);
    }

    @Test
    void ampleBudget_andLimitBelowIt_goesOnPlanned() {
        Networks each = Networks.LENET;
        Model model = each.create(WorkspaceMode.ENABLED);
        DataSet[] data = new DataSet[ITERATIONS];
        Arrays.setAll(data, i -> each.data(LARGER, i));
        MemOptConfig config =
                guarded(OutOfMemory.RECOVER_BITWISE).budget("1 GiB").build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            memopt.rehearse(data[0]);
            assertThat(memopt.budget().orElseThrow().chosen().reuse()).isEqualTo(Reuse.RELEASED);
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            limit.limit(limit.liveBytes() + (15 << 20)); // plainly it takes about 35 MB
            for (int i = 0; i < ITERATIONS; i++) {
                Nd4j.getRandom().setStates(7, i + 1);
                Networks.fit(model, data[i]);
            }
            assertThat(note(memopt)).contains("1 iteration ran", "the last time by planned");
            assertThat(limit.refusals()).isPositive();
        }
        assertSame(model, reference(each, i -> each.data(LARGER, i), MemOptConfig.defaults()));
    }

    @Test
    void budgetBelowLeast_isRefusedAgainWithTheNextMinibatch() {
        Networks each = Networks.LENET;
        Model model = each.create(WorkspaceMode.ENABLED);
        byte[] before = bits(model.params());
        try (MemOpt memopt =
                MemOpt.attach(model, guarded(OutOfMemory.RECOVER).budget("1 KB").build())) {
            for (int i = 0; i < 2; i++) {
                assertThat(catchThrowableOfType(BudgetException.class, () -> fit(each, model, 0)))
                        .isNotNull();
            }
            assertThat(memopt.budget()).isEmpty();
        }
        assertThat(bits(model.params())).isEqualTo(before);
    }

    @Test
    void memoryOut_whileTheBudgetIsDecided_keepsBits() {
        for (int site : new int[] {3, 30, 90}) {
            assertThat(decides(Networks.LENET, site)).isTrue();
        }
        assertThat(decides(Networks.RESIDUAL_GRAPH, 1)).isTrue();
    }

    /** Sites a hundred apart, in the decision and the iteration after it. */
    @Tag("soak")
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH"})
    void memoryOut_anywhereInTheDecision_keepsBits(Networks each) {
        int failures = 0;
        int site = 1;
        while (site < MOST_REQUESTS && decides(each, site)) {
            failures++;
            site += site < 40 ? 1 : 1 + site / 30;
        }
        System.out.println(each + ", sites of a decision: " + failures + " failures");
        assertThat(failures).isGreaterThan(50);
    }

    /** Whether {@code site} was met; the results are those of plain training. */
    private boolean decides(Networks each, int site) {
        forgetSizes();
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                guarded(OutOfMemory.RECOVER_BITWISE).budget("1 GiB").build();
        long refusals;
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            for (int i = 0; i < 2; i++) {
                DataSet data = each.data(2 + 1, i);
                Nd4j.getRandom().setStates(7, i + 1);
                limit.failRequest(i == 0 ? site : 0);
                Networks.fit(model, data);
            }
            refusals = limit.refusals();
            assertThat(memopt.isActive()).isTrue();
        }
        Model reference = each.create(WorkspaceMode.ENABLED);
        for (int i = 0; i < 2; i++) {
            DataSet data = each.data(2 + 1, i);
            Nd4j.getRandom().setStates(7, i + 1);
            Networks.fit(reference, data);
        }
        assertThat(bits(model.params())).as("site %d", site).isEqualTo(bits(reference.params()));
        return refusals > 0;
    }

    @Test
    void mixedPrecision_withFailures_isAsWithout() {
        mixed(Networks.LSTM_TEXT);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void mixedPrecisionOfAll_withFailures_isAsWithout(Networks each) {
        mixed(each);
    }

    private void mixed(Networks each) {
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig config = guarded(OutOfMemory.RECOVER_BITWISE)
                .precision(Precision.MIXED_HALF)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            failsAt(each, model, 0, 4, 9, 2);
            assertThat(recoveries(memopt)).isBetween(2, 3);
            assertThat(memopt.summary().notes())
                    .anyMatch(note -> note.contains("scaled by 128") && note.contains("0 of " + ITERATIONS));
        }
        assertSame(
                model,
                reference(
                        each,
                        MemOptConfig.builder().precision(Precision.MIXED_HALF).build()));
    }

    @Tag("soak")
    @Test
    void mixedPrecision_limitBelow_goesOnInAWayThatFits() {
        Networks each = Networks.LENET;
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                guarded(OutOfMemory.RECOVER).precision(Precision.MIXED_HALF).build();
        long need = peakOf(each, config);
        String note = "";
        int plainly = 0;
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            DataSet[] data = new DataSet[ITERATIONS];
            Arrays.setAll(data, i -> each.data(BATCH, i));
            limit.limit(limit.liveBytes() + need * 7 / 10);
            for (int i = 0; i < ITERATIONS; i++) {
                Nd4j.getRandom().setStates(7, i + 1);
                Networks.fit(model, data[i]);
                note = note(memopt);
                plainly += note.isEmpty() ? 1 : 0;
            }
            assertThat(limit.liveBytes()).isLessThanOrEqualTo(limit.limitBytes());
        }
        assertThat(note).contains("1 iteration ran out of memory").contains("micro-batches of ");
        int part = Integer.parseInt(note.replaceAll(".*micro-batches of (\\d+).*", "$1"));
        assertSame(model, mixedInPartsAfter(plainly, part, each));
    }

    /** Trained in whole minibatches for some iterations, and in parts from then on. */
    private static Model mixedInPartsAfter(int iterations, int part, Networks each) {
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig.Builder config = MemOptConfig.builder().precision(Precision.MIXED_HALF);
        try (MemOpt memopt = MemOpt.attach(model, config.build())) {
            train(model, each, 0, iterations);
            assertThat(memopt.isActive()).isTrue();
        }
        try (MemOpt memopt = MemOpt.attach(model, config.microBatch(part).build())) {
            train(model, each, iterations, ITERATIONS);
            assertThat(memopt.isActive()).isTrue();
        }
        return model;
    }

    private static void train(Model model, Networks each, int from, int to) {
        for (int i = from; i < to; i++) {
            DataSet data = each.data(BATCH, i);
            Nd4j.getRandom().setStates(7, i + 1);
            Networks.fit(model, data);
        }
    }

    /** Most that training takes beyond what is there before its first iteration, the guard's copies included. */
    private static long peakOf(Networks each, MemOptConfig config) {
        Model model = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            MemoryLedger ledger = MemoryHooks.recording().ledger();
            DataSet data = each.data(BATCH, 0);
            try (PeakWindow window = ledger.openPeakWindow()) {
                long before = ledger.reservedBytes(MemorySpace.HOST);
                for (int i = 0; i < ITERATIONS; i++) {
                    Networks.fit(model, data);
                }
                return window.take().reservedBytes(MemorySpace.HOST) - before;
            }
        } finally {
            MemoryHooks.uninstall();
        }
    }

    @Test
    void offload_withFailures_equalsPlain() {
        offload(Networks.RESIDUAL_GRAPH);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void offloadOfAll_withFailures_equalsPlain(Networks each) {
        offload(each);
    }

    private void offload(Networks each) {
        Model model = each.create(WorkspaceMode.ENABLED);
        MemOptConfig config = guarded(OutOfMemory.RECOVER_BITWISE)
                .offloadUpdaterState(folder)
                .activationShare(0)
                .offloadCheckpoints(folder)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            failsAt(each, model, 0, 4, 9, 2);
            assertThat(recoveries(memopt)).isBetween(2, 3);
            assertSame(model, reference(each, MemOptConfig.defaults()));
        }
        assertSame(model, reference(each, MemOptConfig.defaults()));
    }

    /** In each iteration one request fails, 0 for none. */
    private static void failsAt(Networks each, Model model, int... sites) {
        AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
        for (int i = 0; i < sites.length; i++) {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            DataSet data = each.data(BATCH, i);
            Nd4j.getRandom().setStates(7, i + 1);
            limit.failRequest(sites[i]);
            Networks.fit(model, data);
            limit.failRequest(0);
        }
    }

    @Test
    void offload_guardsCopyLiesInAFileToo() throws IOException {
        Path alone = Files.createDirectory(folder.resolve("alone"));
        Path guarded = Files.createDirectory(folder.resolve("guarded"));

        assertThat(mappings(alone, MemOptConfig.builder())).isEqualTo(1);
        assertThat(mappings(guarded, guarded(OutOfMemory.GUARD))).isEqualTo(2);
    }

    /** Mapped files of {@code its} after an iteration with the updater's state there. */
    private static long mappings(Path its, MemOptConfig.Builder config) throws IOException {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, config.offloadUpdaterState(its).build())) {
            fit(Networks.LENET, model, 0);
            assertThat(memopt.isActive()).isTrue();
            return Files.readAllLines(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1).stream()
                    .filter(line -> line.contains(its + "/memopt-"))
                    .count();
        }
    }

    @Test
    void budgetBesideOffload_countsNoCopyOfTheState() {
        long adam = 2 * Networks.LENET.create(WorkspaceMode.ENABLED).numParams() * Float.BYTES;
        long inMemory = least(Networks.LENET, LARGER, guarded(OutOfMemory.GUARD));
        forgetSizes();
        long inFile = least(Networks.LENET, LARGER, guarded(OutOfMemory.GUARD).offloadUpdaterState(folder));

        assertThat(inMemory - inFile).isEqualTo(2 * adam);
    }
}
