// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.guard.OutOfMemory;
import io.memopt.report.MemorySummary;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.precision.Precision;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.factory.Nd4j;

/** Iterations are those that training made, wherever they are told; what else was computed is told apart. */
class ExtraPassesTest {
    private static final int BATCH = 16;
    private static final int ITERATIONS = 3;

    @TempDir
    Path folder;

    @BeforeEach
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @Test
    void forecast_whileAttached_isNoIterationAnywhere() throws IOException {
        Path trace = folder.resolve("run.memopt");
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(trace).build())) {
            memopt.bindTo(registry);
            train(model, Networks.VGG);
            MemOpt.willItFit(model, Networks.VGG.data(BATCH, 0).toMultiDataSet());

            MemorySummary summary = memopt.summary();
            assertThat(summary.iterations()).isEqualTo(ITERATIONS);
            assertThat(summary.extraPasses()).containsOnly(java.util.Map.entry(ExtraPass.TRIED, 9L));
            assertThat(summary.toString()).contains("9 of copies, for forecasts; none is an iteration");
            assertThat(summary.networks()).singleElement().satisfies(row -> {
                assertThat(row.network()).isEqualTo(memopt.name());
                assertThat(row.iterations()).isEqualTo(ITERATIONS);
            });
            assertThat(memopt.recentEvents())
                    .filteredOn(MemoryEvent.Iteration.class::isInstance)
                    .hasSize(ITERATIONS);
            assertThat(registry.get("memopt.iteration.seconds").timers())
                    .singleElement()
                    .satisfies(timer -> assertThat(timer.count()).isEqualTo(ITERATIONS));
            assertThat(json(summary).getAsJsonObject("extraPasses").get("tried").getAsLong())
                    .isEqualTo(9);
        }
        assertThat(iterations(trace)).isEqualTo(ITERATIONS);
    }

    @Test
    void flowsPerIteration_areNotThoseOfForecasts() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            train(model, Networks.LENET);
            long before = allocated(memopt.summary());
            MemOpt.willItFit(model, Networks.LENET.data(BATCH, 0).toMultiDataSet());

            assertThat(allocated(memopt.summary())).isLessThan(before + before / 10);
        }
    }

    @Test
    void rehearsal_andProofOfPlans_areNoIterations() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().reuse(Reuse.PLANNED).build())) {
            memopt.rehearse(Networks.LENET.data(BATCH, 0));
            train(model, Networks.LENET);

            MemorySummary summary = memopt.summary();
            assertThat(summary.iterations()).isEqualTo(ITERATIONS);
            assertThat(summary.extraPasses())
                    .containsEntry(ExtraPass.REHEARSED, 2L)
                    .containsKey(ExtraPass.VERIFIED);
        }
    }

    @Test
    void decisionForABudget_isNoIteration() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().budget("1 GiB").build())) {
            train(model, Networks.LENET);

            MemorySummary summary = memopt.summary();
            assertThat(summary.iterations()).isEqualTo(ITERATIONS);
            assertThat(summary.extraPasses().get(ExtraPass.REHEARSED)).isGreaterThan(4);
            assertThat(summary.extraPasses()).doesNotContainKey(ExtraPass.TRIED);
        }
    }

    @Test
    void recovery_countsWhatItRepeatsAndTries_apart() throws IOException {
        Path trace = folder.resolve("run.memopt");
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder()
                .outOfMemory(OutOfMemory.RECOVER)
                .postMortems(folder)
                .trace(trace)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config);
                AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE)) {
            // A batch of 32 takes about 35 MB in its first iteration.
            limit.limit(limit.liveBytes() + (7 << 20));
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, Networks.LENET.data(2 * BATCH, i));
            }

            MemorySummary summary = memopt.summary();
            assertThat(limit.refusals()).isPositive();
            assertThat(summary.iterations()).isEqualTo(ITERATIONS);
            assertThat(summary.extraPasses().get(ExtraPass.REPEATED)).isPositive();
            assertThat(summary.extraPasses().get(ExtraPass.TRIED)).isPositive();
            assertThat(summary.toString()).contains("undone for want of memory and repeated");
        }
        assertThat(iterations(trace)).isEqualTo(ITERATIONS);
    }

    @Test
    void mixedPrecision_hasAMedianStep() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(
                model, MemOptConfig.builder().precision(Precision.MIXED_HALF).build())) {
            long begun = System.nanoTime();
            train(model, Networks.LENET, 2);
            double all = (System.nanoTime() - begun) / 1e6;

            double median = memopt.summary().stepMillisMedian();
            assertThat(median).isBetween(all / ITERATIONS / 20, all);
            assertThat(memopt.summary().toString()).doesNotContain("median step unknown");
        }
    }

    private static void train(Model model, Networks data) {
        train(model, data, BATCH);
    }

    private static void train(Model model, Networks data, int batch) {
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, data.data(batch, i));
        }
    }

    private static long allocated(MemorySummary summary) {
        return summary.flows().stream()
                .mapToLong(MemorySummary.Flow::allocatedBytes)
                .sum();
    }

    private static JsonObject json(MemorySummary summary) {
        return JsonParser.parseString(summary.toJson()).getAsJsonObject();
    }

    private static long iterations(Path trace) throws IOException {
        long iterations = 0;
        try (TraceReader reader = new TraceReader(trace)) {
            for (MemoryEvent event : reader) {
                iterations += event instanceof MemoryEvent.Iteration ? 1 : 0;
            }
        }
        return iterations;
    }
}
