// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.ScopeObserver;
import io.memopt.guard.OutOfMemory;
import io.memopt.listeners.prometheus.MetricsServer;
import io.memopt.listeners.training.Trackers;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Wrong arguments are refused with a clear message; everything else that goes wrong only costs figures. */
class BadInputTest {
    @TempDir
    Path directory;

    @BeforeEach
    @AfterEach
    void uninstall() {
        assertThat(Nd4j.getBackend()).as("started").isNotNull();
        MemoryHooks.uninstall();
    }

    // ---- arguments

    @Test
    void attach_withoutNetwork_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(null))
                .withMessage("network=null, expected a MultiLayerNetwork or a ComputationGraph");
        assertThatNullPointerException()
                .isThrownBy(() -> MemOpt.attach(Networks.mlp(2, 2, 2), null))
                .withMessage("config");
        assertThatNullPointerException().isThrownBy(() -> MemOpt.explain(null)).withMessage("failure");
    }

    @Test
    void settings_withoutValues_nameTheSetting() throws IOException {
        MemOptConfig.Builder config = MemOptConfig.builder();
        Path file = Files.createFile(directory.resolve("file"));

        assertThatNullPointerException().isThrownBy(() -> config.trace(null)).withMessage("trace");
        assertThatNullPointerException()
                .isThrownBy(() -> config.planProfile(null))
                .withMessage("planProfile");
        assertThatNullPointerException().isThrownBy(() -> config.budget(null)).withMessage("budget");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> config.budget("0.8"))
                .withMessageContaining("budget=\"0.8\" is 0 B")
                .withMessageContaining("budget(0.8)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> config.postMortems(file))
                .withMessage("postMortems=" + file + " is a file, expected a folder");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.willItFit(Networks.mlp(2, 2, 2)))
                .withMessage("inputs=[], expected the type of each input of the network");
    }

    @Test
    void attach_withAnotherStepThanAnEarlierHandle_isRefusedWithBoth() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        MemOptConfig three = MemOptConfig.builder().microBatch(3).build();
        MemOptConfig eight = MemOptConfig.builder().microBatch(8).build();
        try (MemOpt first = MemOpt.attach(network, three);
                MemOpt same = MemOpt.attach(network, three);
                MemOpt observing = MemOpt.attach(network)) {
            assertThat(List.of(first, same, observing)).allMatch(MemOpt::isActive);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemOpt.attach(network, eight))
                    .withMessage("This network is trained with microBatch=3 by an earlier handle, and cannot be with"
                            + " microBatch=8 at the same time. Close that handle first.");
        }
        try (MemOpt after = MemOpt.attach(network, eight)) {
            assertThat(after.isActive()).isTrue();
        }
    }

    @Test
    void attach_withAnotherGuardThanAnEarlierHandle_isRefusedWithBoth() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        MemOptConfig parts = MemOptConfig.builder().microBatch(3).build();
        MemOptConfig guarded =
                MemOptConfig.builder().outOfMemory(OutOfMemory.RECOVER).build();
        try (MemOpt first = MemOpt.attach(network, parts)) {
            assertThat(first.isActive()).isTrue();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemOpt.attach(network, guarded))
                    .withMessage("This network is trained with microBatch=3 by an earlier handle, and cannot be with"
                            + " outOfMemory=RECOVER at the same time. Close that handle first.");
        }
        try (MemOpt first = MemOpt.attach(network, guarded);
                MemOpt same = MemOpt.attach(network, guarded)) {
            assertThat(List.of(first, same)).allMatch(MemOpt::isActive);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemOpt.attach(
                            network,
                            MemOptConfig.builder()
                                    .outOfMemory(OutOfMemory.GUARD)
                                    .build()))
                    .withMessageContaining(
                            "outOfMemory=RECOVER by an earlier handle, and cannot be with outOfMemory=GUARD");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemOpt.attach(
                            network, MemOptConfig.builder().budget("1 GiB").build()))
                    .withMessageContaining("cannot be with budget=1.00 GiB");
        }
    }

    @Test
    void rehearse_withNothingToPrepare_saysSo() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        try (MemOpt memopt = MemOpt.attach(network)) {
            String log = ErrorLog.of(() -> memopt.rehearse(batch()));
            assertThat(log).contains("rehearse() prepares nothing for " + memopt.name(), "reuse(PLANNED)");
            assertThat(memopt.summary().extraPasses()).isEmpty();
        }
    }

    @Test
    void calls_afterClose_doNothingAndSaySo_whileTheSummaryStays() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        MemOpt memopt = MemOpt.attach(
                network,
                MemOptConfig.builder().reuse(Reuse.PLANNED).accumulate(2).build());
        network.fit(batch());
        network.fit(batch());
        memopt.close();

        Map<String, Runnable> calls = Map.of(
                "rehearse", () -> memopt.rehearse(batch()),
                "applyGathered", memopt::applyGathered,
                "onEarlyWarning", () -> memopt.onEarlyWarning(warning -> {}),
                "postMortem",
                        () -> assertThat(memopt.postMortem(new OutOfMemoryError("Cannot allocate 1 byte")))
                                .isEmpty(),
                "bindTo", () -> memopt.bindTo(registry),
                "serveMetrics", () -> assertThat(memopt.serveMetrics(0)).isEmpty(),
                "trimDeviceMemory", memopt::trimDeviceMemory);
        calls.forEach((name, call) -> assertThat(ErrorLog.of(call))
                .contains(name + "() does nothing: this handle of " + memopt.name() + " is closed."));

        assertThat(registry.getMeters()).isEmpty();
        assertThat(memopt.summary().iterations()).isEqualTo(1);
        assertThat(memopt.budget()).isEmpty();
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @Test
    void budgetProfile_withoutABudget_isNamedPlainly() {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> MemOptConfig.builder().budgetProfile(Path.of("p")).build())
                .withMessage("exactness=BITWISE and budgetProfile=p but no budget: there is nothing to choose");
    }

    @Test
    void attach_toALayer_isRefused() {
        Model layer = Networks.mlp(2, 2, 2).getLayer(0);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(layer))
                .withMessageContaining("DenseLayer, expected a MultiLayerNetwork or a ComputationGraph");
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @Test
    void attach_toUninitialisedNetwork_isRefusedAndLeavesNothingBehind() {
        MultiLayerNetwork network = new MultiLayerNetwork(
                ((MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED)).getLayerWiseConfigurations());
        ComputationGraph graph = new ComputationGraph(
                ((ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED)).getConfiguration());

        for (Model model : new Model[] {network, graph}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemOpt.attach(model))
                    .withMessageContaining("call init() first");
            assertThat(MemoryHooks.installed()).isFalse();
        }
        network.init();
        try (MemOpt memopt = MemOpt.attach(network)) {
            assertThat(memopt.isActive()).isTrue();
            assertThat(memopt.name()).isEqualTo("MultiLayerNetwork-1");
        }
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 65536, Integer.MAX_VALUE})
    void serveMetrics_portOutOfRange_isRefused(int port) {
        try (MemOpt memopt = MemOpt.attach(Networks.mlp(2, 2, 2))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memopt.serveMetrics(port))
                    .withMessage("port=" + port + ", expected 0..65535");
        }
    }

    @Test
    void serveMetrics_portTaken_warnsAndTrainingGoesOn() throws IOException {
        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                MemOpt memopt = MemOpt.attach(network)) {
            AtomicReference<Optional<MetricsServer>> server = new AtomicReference<>();

            String log = ErrorLog.of(() -> server.set(memopt.serveMetrics(taken.getLocalPort())));

            assertThat(server.get()).isEmpty();
            assertThat(log)
                    .contains(Integer.toString(taken.getLocalPort()))
                    .contains("Training goes on without a metrics endpoint.");
            HooksCombinationsTest.fit(network);
            assertThat(memopt.summary().iterations()).isEqualTo(1);
        }
    }

    // ---- trace files

    @Test
    void trace_pathIsADirectory_warnsAndTrainingGoesOn() {
        assertThat(attachTracing(directory)).contains("Training goes on without a trace.", directory.toString());
    }

    @Test
    void trace_parentIsAFile_warnsAndTrainingGoesOn() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));

        assertThat(attachTracing(file.resolve("trace.memopt")))
                .contains("Training goes on without a trace.", file.toString());
    }

    @Test
    void trace_parentIsMissing_warnsAndTrainingGoesOn() {
        Path path = directory.resolve("missing").resolve("trace.memopt");

        assertThat(attachTracing(path)).contains("Training goes on without a trace.", path.toString());
    }

    @Test
    void trace_diskIsFull_warnsAndTrainingGoesOn() {
        Path full = Path.of("/dev/full");
        assumeThat(full).exists();

        assertThat(attachTracing(full))
                .containsAnyOf("Training goes on and the file stays readable", "Training goes on without a trace.")
                .contains("No space left on device");
    }

    @Test
    void traceMaxBytes_tooSmall_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOptConfig.builder().traceMaxBytes(1000).build())
                .withMessage("traceMaxBytes=1000, expected at least 1048576");
    }

    /** Attaches with a trace at {@code path}, trains, closes; returns what was logged. */
    private static String attachTracing(Path path) {
        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        return ErrorLog.of(() -> {
            MemOpt memopt =
                    MemOpt.attach(network, MemOptConfig.builder().trace(path).build());
            for (int i = 0; i < 5; i++) {
                HooksCombinationsTest.fit(network);
            }
            assertThat(memopt.isActive()).isTrue();
            assertThat(memopt.summary().iterations()).isEqualTo(5);
            memopt.close();
            memopt.close();
        });
    }

    // ---- versions and faults of ours

    @Test
    void faultsInHooks_andUntestedVersion_areToldOnceAndChangeNothing() throws Exception {
        Path facts = directory.resolve("META-INF/maven/org.nd4j/nd4j-api/pom.properties");
        Files.createDirectories(facts.getParent());
        Files.writeString(facts, "version=1.0.0-M9\n");

        ChildJvm.Result child =
                ChildJvm.of(Faults.class).classPathFirst(directory).run().ok();

        assertThat(child.text("faulty")).isEqualTo(child.text("plain"));
        assertThat(child.number("thrown")).as("a sink that throws is dropped").isEqualTo(1);
        assertThat(child.number("events")).isGreaterThan(1000);
        assertThat(child.err())
                .containsOnlyOnce("ND4J 1.0.0-M9 is not one of the tested versions")
                .contains("1.0.0-M2.1")
                .containsOnlyOnce("The memory recorder failed; training goes on, figures are incomplete from now on.")
                .containsOnlyOnce("fault of an observer")
                .containsOnlyOnce("fault of a sink");
    }

    /** Trains with everything that hears of events throwing. */
    static final class Faults {
        private static final AtomicInteger thrown = new AtomicInteger();

        private Faults() {}

        public static void main(String[] args) {
            System.out.println("plain=" + train(false));
            MultiLayerNetwork network = Networks.mlp(4, 5, 3);
            MemOpt memopt = MemOpt.attach(network);
            MemOpt.attach(network).close();
            MemoryHooks.recording().ledger().addSink((code, time, thread, owner, workspace, address, bytes, extra) -> {
                thrown.incrementAndGet();
                throw new IllegalStateException("fault of a sink");
            });
            MemoryHooks.recording().addObserver(new ScopeObserver() {
                @Override
                public void scopeEntered(String workspace) {
                    throw new NoSuchMethodError("fault of an observer");
                }
            });
            Trackers.current().addObserver(new TrainingObserver() {
                @Override
                public void phaseEnded(String name, Phase phase, long nanos) {
                    throw new IllegalStateException("fault of a training observer");
                }
            });
            System.out.println("faulty=" + train(true));
            System.out.println("thrown=" + thrown.get());
            System.out.println("events=" + memopt.summary().events());
            memopt.close();
        }

        private static String train(boolean attach) {
            Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
            Nd4j.getRandom().setSeed(3);
            MemOpt memopt = attach ? MemOpt.attach(model) : null;
            for (int i = 0; i < 5; i++) {
                Networks.fit(model, Networks.VGG.data(4, i));
            }
            if (memopt != null) {
                memopt.close();
            }
            return Integer.toHexString(
                    Arrays.hashCode(model.params().dup().data().asFloat()));
        }
    }

    private static DataSet batch() {
        return new DataSet(Nd4j.rand(4, 2), Nd4j.rand(4, 2));
    }
}
