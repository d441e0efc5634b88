// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.listeners.prometheus.MetricsServer;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.report.MemorySummary;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemOptTest {
    @BeforeEach
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void summary_ofTraining_tellsWhereBytesAre() {
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            train(model, Networks.VGG, 4);
            MemorySummary summary = memopt.summary();

            assertThat(summary.iterations()).isEqualTo(4);
            assertThat(summary.stepMillisMedian()).isPositive();
            assertThat(summary.reservedPeak().bytes()).isGreaterThanOrEqualTo(summary.reservedBytes());
            assertThat(summary.reservedBytes()).isGreaterThanOrEqualTo(summary.usedBytes());
            assertThat(summary.liveByCategory()).containsEntry(Category.PARAMETERS, model.numParams() * 4);
            assertThat(summary.workspaces())
                    .extracting(MemorySummary.WorkspaceRow::name)
                    .contains("WS_ALL_LAYERS_ACT", "WS_LAYER_WORKING_MEM");
            assertThat(summary.layers().get(0).peakBytes()).isPositive();
            assertThat(summary.attributedShare()).isGreaterThan(0.99);
            assertThat(summary.toString())
                    .contains("reserved peak", "WS_LAYER_WORKING_MEM", "BatchNormalization.preOutput")
                    .doesNotContain("null");
        }
    }

    @Test
    void json_hasTheFieldsThatProgramsReadInIt() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            train(model, Networks.LENET, 2);
            JsonObject json = JsonParser.parseString(memopt.summary().toJson()).getAsJsonObject();

            assertThat(json.keySet())
                    .contains(
                            "model",
                            "dl4jVersion",
                            "backend",
                            "hardware",
                            "iterations",
                            "stepMillisMedian",
                            "peakBytes",
                            "peakAt",
                            "liveByCategory",
                            "reservedBytes",
                            "usedBytes",
                            "attributedShare",
                            "unattributedBytes",
                            "overheadShare",
                            "events");
            assertThat(json.getAsJsonArray("flows").toString())
                    .contains("\"category\":\"activations\",\"phase\":\"forward\"");
            assertThat(json.getAsJsonObject("peakAt").keySet()).contains("iteration", "phase", "layer");
            assertThat(json.get("dl4jVersion").getAsString()).isEqualTo("1.0.0-M2.1");
        }
    }

    @Test
    void trace_ofTraining_isReadBackWithTheSameEvents(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("run.memopt");
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(file).build())) {
            train(model, Networks.LENET, 3);
            assertThat(memopt.recentEvents()).hasAtLeastOneElementOfType(MemoryEvent.Iteration.class);
        }

        long iterations = 0;
        long layers = 0;
        try (TraceReader reader = new TraceReader(file)) {
            for (MemoryEvent event : reader) {
                iterations += event instanceof MemoryEvent.Iteration ? 1 : 0;
                boolean conv1 = reader.owner(event.owner()).layer().equals("conv1");
                layers += event instanceof MemoryEvent.Allocate && conv1 ? 1 : 0;
            }
            assertThat(reader.truncatedAtOffset()).isEmpty();
        }
        assertThat(iterations).isEqualTo(3);
        assertThat(layers).isGreaterThan(3);
    }

    @Test
    void trace_beginsWithWhatIsThereAlready(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("run.memopt");
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        train(model, Networks.LENET, 2);
        try (MemOpt first = MemOpt.attach(model)) {
            train(model, Networks.LENET, 2);
            try (MemOpt second =
                    MemOpt.attach(model, MemOptConfig.builder().trace(file).build())) {
                train(model, Networks.LENET, 1);
                assertThat(List.of(first, second)).allMatch(MemOpt::isActive);
            }
        }

        Map<Category, Long> bytes = new EnumMap<>(Category.class);
        try (TraceReader reader = new TraceReader(file)) {
            for (MemoryEvent event : reader) {
                if (event instanceof MemoryEvent.Allocate allocated
                        && allocated.allocation() == AllocationKind.DETACHED) {
                    bytes.merge(reader.owner(event.owner()).category(), allocated.requestedBytes(), Long::sum);
                }
            }
        }
        assertThat(bytes)
                .containsEntry(Category.PARAMETERS, model.numParams() * Float.BYTES)
                .containsEntry(Category.GRADIENTS, model.numParams() * Float.BYTES)
                .containsKey(Category.UPDATER_STATE);
    }

    @Test
    void metrics_ofTraining_areServed() {
        Model model = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model);
                MetricsServer server = memopt.serveMetrics(0).orElseThrow()) {
            train(model, Networks.RESIDUAL_GRAPH, 3);

            String text = server.scrape();

            assertThat(text)
                    .contains("memopt_live_bytes{", "category=\"parameters\"", "network=\"ComputationGraph-1\"")
                    .contains("memopt_iteration{network=\"ComputationGraph-1\"");
        }
    }

    @Test
    void close_endsTheEndpoint_soThatTheNextRunGetsThePort() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOpt first = MemOpt.attach(model);
        MetricsServer server = first.serveMetrics(0).orElseThrow();
        first.close();
        server.close();

        try (MemOpt second = MemOpt.attach(model)) {
            MetricsServer again = second.serveMetrics(server.port()).orElseThrow();
            train(model, Networks.LENET, 1);
            assertThat(again.scrape()).contains("memopt_iteration{");
        }
        assertThat(first.serveMetrics(0)).isEmpty();
    }

    @Test
    void attach_afterTraining_dividesOnlyWhatCameSinceByItsIterations() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        model.addListeners(new MemoryListener());
        train(model, Networks.LENET, 40);
        try (MemOpt memopt = MemOpt.attach(model)) {
            assertThat(memopt.summary().toString()).contains("allocated since attached, before any iteration");
            assertThat(perIteration(memopt)).isZero();

            train(model, Networks.LENET, 2);
            long two = perIteration(memopt);
            train(model, Networks.LENET, 2);
            assertThat(two).isPositive().isEqualTo(perIteration(memopt));
        }
    }

    private static long perIteration(MemOpt memopt) {
        MemorySummary summary = memopt.summary();
        return summary.flows().stream()
                        .filter(flow -> flow.category() == Category.ACTIVATIONS && flow.phase() == Phase.FORWARD)
                        .mapToLong(MemorySummary.Flow::allocatedBytes)
                        .sum()
                / Math.max(1, summary.iterations());
    }

    @Test
    void setListeners_afterAttach_isToldInTheSummary() {
        MultiLayerNetwork model = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            train(model, Networks.LENET, 1);
            assertThat(memopt.summary().notes()).noneMatch(note -> note.contains("setListeners"));

            model.setListeners(new ScoreIterationListener());
            train(model, Networks.LENET, 1);

            assertThat(memopt.summary().notes())
                    .anyMatch(
                            note -> note.startsWith("MultiLayerNetwork-1 has lost its MemoryListener to setListeners"));
        }
    }

    @Test
    void summary_inALanguageWithOtherDigits_staysAscii() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            train(model, Networks.LENET, 2);

            assertThat(memopt.summary().toString()).contains("idle").isASCII();
            assertThat(memopt.summary().toJson()).isASCII();
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void nativeTemporaries_whenAskedFor_nameOperations() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder().nativeTemporaries(true).build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            train(model, Networks.LENET, 2);

            assertThat(memopt.summary().operations())
                    .isNotEmpty()
                    .allMatch(row -> row.calls() > 0 && row.peakBytes() >= 0)
                    .anyMatch(row -> row.operation().contains("pool"));
        }
        assertThat(MemoryHooks.temporaries()).isNull();
    }

    @Test
    void close_ofLastHandle_leavesNd4jAsItWas() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOpt first = MemOpt.attach(model);
        MemOpt second = MemOpt.attach(model);

        first.close();
        first.close();
        assertThat(MemoryHooks.installed()).isTrue();
        assertThat(second.isActive()).isTrue();

        second.detach();
        assertThat(MemoryHooks.installed()).isFalse();
        train(model, Networks.LENET, 1);
    }

    @Test
    void disabled_attach_doesNothing() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);

        MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().enabled(false).build());

        assertThat(memopt.isActive()).isFalse();
        assertThat(MemoryHooks.installed()).isFalse();
        assertThat(memopt.serveMetrics(0)).isEmpty();
        assertThat(memopt.summary().notes()).hasSize(1);
        memopt.close();
    }

    @Test
    void configuration_outOfRange_isRefusedWithTheValue() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOptConfig.builder().traceMaxBytes(7).build())
                .withMessageContaining("traceMaxBytes=7");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOptConfig.builder().history(-1).build())
                .withMessageContaining("history=-1");
    }

    private static void train(Model model, Networks family, int iterations) {
        for (int i = 0; i < iterations; i++) {
            Networks.fit(model, family.data(8, i));
        }
    }
}
