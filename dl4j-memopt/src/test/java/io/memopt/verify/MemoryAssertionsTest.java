// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import static io.memopt.verify.MemoryAssertions.assertThatMemory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Settings;
import io.memopt.analysis.TraceAnalyzer;
import io.memopt.testing.Networks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Each assertion on a real network: one that keeps the promise, and one that breaks it. */
class MemoryAssertionsTest {
    private static final int ITERATIONS = 10;

    @TempDir
    Path folder;

    /** ND4J's start puts the hooks in. */
    @BeforeEach
    @AfterEach
    void uninstall() {
        Nd4j.getBackend();
        MemoryHooks.uninstall();
    }

    @Test
    void leNet_trainingInWorkspaces_keepsAllPromises() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        List<DataSet> batches = new ArrayList<>(Networks.LENET.data(16, 1).asList());

        MemoryAssert memory = assertThatMemory(network)
                .whileFitting(new ListDataSetIterator<>(batches, 8), ITERATIONS)
                .peakBelow("8 MiB")
                .hasNoGrowthOver("0 B")
                .leavesNoGarbageOver("1 KiB")
                .makesNoDriverAllocationsAfterWarmup();

        assertThat(memory.figures().peakBytes()).isGreaterThan(3L * network.numParams() * 4);
        assertThat(memory.figures().promptPeakBytes())
                .isBetween(3L * network.numParams() * 4, memory.figures().peakBytes() + 1024);
        assertThat(memory.figures().measured()).isEqualTo(ITERATIONS - 3);
    }

    @Test
    void graph_training_keepsAllPromises() {
        assertThatMemory(Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED))
                .withWarmup(10)
                .whileFitting(Networks.RESIDUAL_GRAPH.data(4, 1), 15)
                .peakBelow("4 MiB")
                .hasNoGrowthOver("0 B");
    }

    @Test
    void peak_aboveTheLimit_namesLayerPhaseAndRemedy() {
        MemoryAssert memory = assertThatMemory(Networks.LENET.create(WorkspaceMode.ENABLED))
                .whileFitting(Networks.LENET.data(8, 1), 4);

        assertThat(failureOf(() -> memory.peakBelow("2 MiB")))
                .startsWith("MultiLayerNetwork-1: reserved peak ")
                .contains("expected below 2.0 MiB (2097152 B).")
                .containsPattern("Reached in iteration \\d, .*\\. Held then:\n")
                .containsPattern("\\d\\.\\d MiB free part of blocks, in WS_LAYER_WORKING_MEM\n")
                .containsPattern(
                        "Most of it in use at once, in iteration \\d, working memory of conv2, (for|back)ward:")
                .containsPattern("  \\d\\.\\d MiB working memory of conv2, (for|back)ward, in WS_LAYER_WORKING_MEM\n")
                .contains("KiB parameters, gradients and updater state from before\n")
                .contains("What to do: ")
                .contains("use a smaller batch");
    }

    @Test
    void leak_ofResults_isNamedBySiteAndByByte() {
        MultiLayerNetwork network = Networks.mlp(16, 32, 2000);
        INDArray x = Nd4j.rand(64, 16);
        List<INDArray> leak = new ArrayList<>();

        MemoryAssert memory = assertThatMemory(network).whileRunning(() -> leak.add(network.output(x)), ITERATIONS);

        long each = 64L * 2000 * 4;
        assertThat(memory.figures().grownBytes() / memory.figures().measured()).isBetween(each, each + 1024);
        memory.hasNoGrowthOver("501 KiB");
        assertThat(failureOf(() -> memory.hasNoGrowthOver("1 KiB")))
                .contains(
                        "holds 500.",
                        " KiB (512",
                        " B) more with each iteration, allowed are 1.0 KiB (1024 B): 3.4 MiB")
                .contains(" in 7 iterations, all garbage collected")
                .contains("3.4 MiB in detached arrays, activations of ")
                .contains(", made by ", " in MultiLayerNetwork.output:")
                .contains("from MemoryAssertionsTest.lambda$leak_ofResults_isNamedBySiteAndByByte")
                .contains("What to do: detached arrays: find what still refers to them");
        assertThat(leak).hasSize(ITERATIONS);
    }

    @Test
    void results_dropped_areGarbageAndNoGrowth() {
        MultiLayerNetwork network = Networks.mlp(16, 32, 2000);
        INDArray x = Nd4j.rand(64, 16);

        MemoryAssert memory = assertThatMemory(network)
                .whileRunning(() -> network.output(x), ITERATIONS)
                .hasNoGrowthOver("1 KiB");

        long each = 64L * 2000 * 4;
        assertThat(memory.figures().garbageBytes()).isBetween(each, each + 1024);
        memory.leavesNoGarbageOver("501 KiB");
        assertThat(failureOf(() -> memory.leavesNoGarbageOver("10 KiB")))
                .contains(
                        "leaves 500.",
                        "to the Java garbage collector in each iteration, allowed are 10.0 KiB (10240 B)")
                .contains("3.4 MiB in 14 x detached, activations of layer2, inference")
                .contains("What to do: Results of output() are detached arrays");
        assertThat(failureOf(memory::makesNoDriverAllocationsAfterWarmup))
                .contains("7 driver allocations of at least 1.0 KiB (1024 B) in 7 iterations after the warm-up of 3")
                .contains("smaller ones not counted")
                .contains("3.4 MiB in 7 x detached");
    }

    @Test
    void results_inWorkspace_keepAllPromises() {
        MultiLayerNetwork network = Networks.mlp(16, 32, 2000);
        INDArray x = Nd4j.rand(64, 16);

        assertThatMemory(network)
                .whileRunning(
                        () -> {
                            try (MemoryWorkspace results =
                                    Nd4j.getWorkspaceManager().getAndActivateWorkspace("RESULTS")) {
                                network.output(x, false, results);
                            }
                        },
                        ITERATIONS)
                .hasNoGrowthOver("0 B")
                .leavesNoGarbageOver("1 KiB")
                .makesNoDriverAllocationsAfterWarmup();
    }

    @Test
    void batchNormalisation_leavesGarbage_isNamedByLayer() {
        MemoryAssert memory = assertThatMemory(Networks.VGG.create(WorkspaceMode.ENABLED))
                .whileFitting(Networks.VGG.data(8, 1), ITERATIONS)
                .hasNoGrowthOver("0 B");

        // Two arrays of [8, 8, 16, 16] in each of the first two normalisations, and of [8, 16, 8, 8] in the others.
        long each = 4 * 8 * 8 * 16 * 16 * 4L + 4 * 8 * 16 * 8 * 8 * 4L;
        assertThat(memory.figures().garbageBytes()).isBetween(each, each + each / 20);
        assertThat(failureOf(() -> memory.leavesNoGarbageOver("64 KiB")))
                .containsPattern("896\\.\\d KiB in 70 x detached, working memory of layer1, forward")
                .contains("What to do: ");
    }

    @Test
    void sequences_growLonger_workspacesGrowAndAreNamed() {
        Model network = Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        List<DataSet> longer = new ArrayList<>();
        for (int i = 0; i < ITERATIONS; i++) {
            longer.add(Networks.sequences(8, 8 + 8 * i, i));
        }
        int[] next = {0};

        MemoryAssert memory =
                assertThatMemory(network).whileRunning(() -> Networks.fit(network, longer.get(next[0]++)), ITERATIONS);

        assertThat(failureOf(() -> memory.hasNoGrowthOver("1 KiB")))
                .containsPattern("KiB in block of workspace WS_(ALL_LAYERS_ACT|LAYER_WORKING_MEM|RNN_LOOP)");
        assertThat(failureOf(memory::makesNoDriverAllocationsAfterWarmup))
                .contains("x workspace block, ", "x spill, ", ", in WS_");
    }

    @Test
    void scalarsOfNd4j_countOnlyWhenAsked() {
        MemoryAssert memory = assertThatMemory(Networks.LENET.create(WorkspaceMode.ENABLED))
                .whileFitting(Networks.LENET.data(8, 1), ITERATIONS)
                .makesNoDriverAllocationsAfterWarmup();

        assertThat(failureOf(() -> memory.makesNoDriverAllocationsAfterWarmup("0 B")))
                .contains("driver allocations of at least 0 B", "(0 smaller ones not counted)");
    }

    @Test
    void baseline_writtenAndCompared_findsTheLargerBatch() throws Exception {
        Path baseline = folder.resolve("memory/lenet.json");
        MemoryAssert small = leNet(8);
        assertThat(failureOf(() -> small.regressesNoMoreThan("5 %", baseline)))
                .contains("There is no baseline " + baseline, "-Dmemopt.updateBaselines=true");

        System.setProperty(Settings.UPDATE_BASELINES, "true");
        try {
            small.regressesNoMoreThan("5 %", baseline);
        } finally {
            System.clearProperty(Settings.UPDATE_BASELINES);
        }

        assertThat(Files.readString(baseline))
                .contains("\"format\": \"memopt-baseline-1\"")
                .contains("\"network\": \"MultiLayerNetwork, 6 layers, ")
                .contains("\"promptPeakBytes\": " + small.figures().promptPeakBytes());
        leNet(8).regressesNoMoreThan("1 %", baseline);
        leNet(4).regressesNoMoreThan("1 %", baseline);
        MemoryAssert large = leNet(9);
        large.regressesNoMoreThan("20 %", baseline);
        assertThat(failureOf(() -> large.regressesNoMoreThan("5 %", baseline)))
                .contains("worse than " + baseline + " allows (5 %):")
                .containsPattern("heldBytes .* was .* \\(\\+\\d+\\.\\d %\\)")
                .contains("Reached in iteration ")
                .contains("write it anew: -Dmemopt.updateBaselines=true");
    }

    @Test
    void baseline_ofAnotherRunOrNoBaseline_isRefused() throws Exception {
        Path baseline = folder.resolve("lenet.json");
        MemoryAssert memory = leNet(4);
        System.setProperty(Settings.UPDATE_BASELINES, "true");
        try {
            memory.regressesNoMoreThan("5 %", baseline);
        } finally {
            System.clearProperty(Settings.UPDATE_BASELINES);
        }
        MemoryAssert longer = assertThatMemory(Networks.LENET.create(WorkspaceMode.ENABLED))
                .whileFitting(Networks.LENET.data(4, 1), 6);

        assertThat(failureOf(() -> longer.regressesNoMoreThan("5 %", baseline)))
                .contains("was written by another kind of run", "iterations=5", "iterations=6");
        for (String content :
                List.of("", "{}", "[1]", "{\"format\": \"memopt-baseline-1\"}", "{\"figures\": 1}", "no json")) {
            Files.writeString(baseline, content);
            assertThat(failureOf(() -> memory.regressesNoMoreThan("5 %", baseline)))
                    .contains("is no baseline of format memopt-baseline-1", "-Dmemopt.updateBaselines=true");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> memory.regressesNoMoreThan("5", baseline));
    }

    @Test
    void figures_doNotDependOnWhatRanBefore() {
        MemoryFigures alone = leNet(4).figures();
        Model large = Networks.VGG.create(WorkspaceMode.ENABLED);
        for (int i = 0; i < 3; i++) {
            Networks.fit(large, Networks.VGG.data(64, i));
        }

        MemoryFigures after = leNet(4).figures();

        assertThat(after.promptPeakBytes()).isEqualTo(alone.promptPeakBytes());
        assertThat(after.heldBytes()).isEqualTo(alone.heldBytes());
    }

    @Test
    void network_afterTheTest_isAsItWasAndTrainedToTheSameBits() {
        MultiLayerNetwork plain = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        MultiLayerNetwork tested = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(8, 1);
        for (int i = 0; i < 5; i++) {
            plain.fit(data);
        }

        assertThatMemory(tested).whileFitting(data, 5);

        assertThat(tested.params()).isEqualTo(plain.params());
        assertThat(tested.getListeners()).isEmpty();
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @Test
    void iteration_fails_isToldAndNothingStays() {
        ComputationGraph graph = (ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);

        assertThatThrownBy(() -> assertThatMemory(graph)
                        .whileRunning(
                                () -> {
                                    throw new IllegalStateException("wrong data");
                                },
                                5))
                .hasMessage("wrong data");

        assertThat(graph.getListeners()).isEmpty();
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @Test
    void recording_asked_staysForTheReport() throws Exception {
        Path trace = folder.resolve("lenet.memopt");

        assertThatMemory(Networks.LENET.create(WorkspaceMode.ENABLED))
                .withWarmup(1)
                .recordingTo(trace)
                .whileFitting(Networks.LENET.data(4, 1), 3);

        assertThat(TraceAnalyzer.analyze(trace).iterations()).hasSize(3);
    }

    @Test
    void staleArray_keptByListener_isNamedWithBothPlaces() {
        MultiLayerNetwork network = Networks.mlp(20, 64, 4);
        Activations kept = new Activations();
        network.addListeners(kept);
        DataSet data = new DataSet(Nd4j.rand(8, 20), Nd4j.rand(8, 4));

        MemoryAssert memory = assertThatMemory(network)
                .withWarmup(1)
                .withScopeCheck()
                .whileRunning(
                        () -> {
                            network.fit(data);
                            kept.first.getDouble(0);
                        },
                        4);

        assertThat(failureOf(memory::readsNoStaleArrays))
                .contains("4 uses of arrays after their scope, in ", " places, expected none.")
                .contains(" x Array of 2.0 KiB (2048 B) used after its scope: made by layer layer0 (MultiLayerNetwork-")
                .contains("in workspace WS_ALL_LAYERS_ACT, scope ")
                .contains("used at MemoryAssertionsTest.lambda$staleArray_keptByListener_isNamedWithBothPlaces")
                .contains("detach()");
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void staleArrays_inCleanTraining_areNone(Networks family) {
        Model network = family.create(WorkspaceMode.ENABLED);

        assertThatMemory(network)
                .withWarmup(1)
                .withScopeCheck()
                .whileFitting(family.data(4, 1), 4)
                .readsNoStaleArrays();
    }

    @Test
    void staleArrays_notLookedFor_isToldInsteadOfPassed() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        INDArray x = Nd4j.rand(2, 2);

        MemoryAssert memory = assertThatMemory(network).withWarmup(1).whileRunning(() -> network.output(x), 2);

        assertThatThrownBy(memory::readsNoStaleArrays)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("call withScopeCheck() before whileFitting");
    }

    /** Keeps what a forward pass hands out, against the rules. */
    private static final class Activations extends BaseTrainingListener {
        private INDArray first = Nd4j.scalar(0);

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            first = activations.get(1);
        }
    }

    @Test
    void arguments_thatMakeNoSense_areRefused() {
        MultiLayerNetwork network = Networks.mlp(2, 2, 2);
        DataSet data = new DataSet(Nd4j.rand(2, 2), Nd4j.rand(2, 2));

        assertThatIllegalArgumentException()
                .isThrownBy(() -> assertThatMemory(network).whileFitting(data, 3))
                .withMessage("iterations=3, expected more than the warm-up of 3");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> assertThatMemory(network).withWarmup(0))
                .withMessageContaining("warmup=0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> assertThatMemory(network).whileFitting(new ListDataSetIterator<>(List.of(), 1), 5))
                .withMessageContaining("no batch");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> assertThatMemory(new MultiLayerNetwork(network.getLayerWiseConfigurations())))
                .withMessageContaining("init()");
        System.setProperty(Settings.ENABLED, "false");
        try {
            assertThatThrownBy(() -> assertThatMemory(network).whileFitting(data, 5))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("memopt.enabled is false");
        } finally {
            System.clearProperty(Settings.ENABLED);
        }
    }

    private static MemoryAssert leNet(int batch) {
        return assertThatMemory(Networks.LENET.create(WorkspaceMode.ENABLED))
                .withWarmup(2)
                .whileFitting(Networks.LENET.data(batch, 1), 5);
    }

    private static String failureOf(ThrowingCallable assertion) {
        List<String> messages = new ArrayList<>();
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(assertion)
                .satisfies(error -> messages.add(error.getMessage()));
        return messages.get(0);
    }
}
