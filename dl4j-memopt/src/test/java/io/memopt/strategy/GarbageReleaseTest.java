// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static io.memopt.verify.MemoryAssertions.assertThatMemory;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import io.memopt.verify.MemoryFigures;
import io.memopt.verify.TwinResult;
import io.memopt.verify.TwinRun;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

class GarbageReleaseTest {
    private static final int ITERATIONS = 12;
    private static final int BATCH = 4;
    private static final MemOptConfig RELEASED =
            MemOptConfig.builder().reuse(Reuse.RELEASED).build();
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    /** The plain runs are to be plain, and ND4J's start would put the hooks in. */
    @BeforeEach
    @AfterEach
    void uninstall() {
        Nd4j.getBackend();
        MemoryHooks.uninstall();
    }

    static List<Arguments> everyNetworkModeAndLevel() {
        List<Arguments> cases = new ArrayList<>();
        for (NormalizedNetworks network : NormalizedNetworks.values()) {
            cases.add(Arguments.of(network, WorkspaceMode.ENABLED, RELEASED));
            cases.add(Arguments.of(network, WorkspaceMode.ENABLED, PLANNED));
            cases.add(Arguments.of(network, WorkspaceMode.NONE, RELEASED));
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("everyNetworkModeAndLevel")
    void training_withInferenceBetween_equalsPlainBitForBit(
            NormalizedNetworks network, WorkspaceMode mode, MemOptConfig config) {
        TwinResult result = TwinRun.of(() -> network.create(mode), (model, i) -> {
                    Networks.fit(model, network.data(BATCH, i));
                    if (i % 3 == 2) {
                        INDArray features = network.data(3, 99).getFeatures();
                        INDArray labels = output(model, features);
                        Networks.fit(model, new DataSet(features, labels));
                    }
                })
                .iterations(ITERATIONS)
                .compare(model -> releasing(model, config));

        result.requireBitwise();
        assertThat(result.plain().isBitwise()).isTrue();
    }

    @Test
    void vgg_training_equalsPlainBitForBit() {
        TwinRun.of(() -> Networks.VGG.create(WorkspaceMode.ENABLED), i -> Networks.VGG.data(BATCH, i))
                .iterations(ITERATIONS)
                .compare(model -> releasing(model, PLANNED))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void training_leavesNothingToTheCollector_andPlainTwoArraysOfEachNormalisation(Networks family) {
        MemoryFigures plain = whileFitting(family, family.create(WorkspaceMode.ENABLED));
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, RELEASED)) {
            MemoryFigures released = whileFitting(family, model);

            long expected = 2L * Float.BYTES * BATCH * normalised(family);
            assertThat(plain.garbageBytes()).isBetween(expected, expected + 1024);
            assertThat(released.garbageBytes()).isLessThan(1024);
            assertThat(memopt.summary().releasedBytes()).isEqualTo(ITERATIONS * expected);
            assertThat(memopt.summary().toString()).contains("released           ", "as soon as they were dead");
            assertThat(memopt.summary().toJson()).contains("\"releasedBytes\": " + ITERATIONS * expected);
        }
    }

    private static MemoryFigures whileFitting(Networks family, Model model) {
        return assertThatMemory(model)
                .withWarmup(ITERATIONS - 4)
                .whileFitting(family.data(BATCH, 1), ITERATIONS)
                .figures();
    }

    /** Values that a batch normalisation gives, for each example. */
    private static long normalised(Networks family) {
        return family == Networks.VGG ? 2 * 8 * 16 * 16 + 2 * 16 * 8 * 8 : 16 * 16 * 16;
    }

    @Test
    void inference_holdsTwoPassesAtMost() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.VGG.create(WorkspaceMode.ENABLED);
        INDArray x = Networks.VGG.data(BATCH, 1).getFeatures();
        long pass = 2L * Float.BYTES * BATCH * normalised(Networks.VGG);
        try (MemOpt memopt = MemOpt.attach(network, RELEASED)) {
            assertThatMemory(network)
                    .whileRunning(() -> network.output(x).close(), ITERATIONS)
                    .leavesNoGarbageOver("1 KiB");

            assertThat(memopt.summary().releasedBytes()).isEqualTo((ITERATIONS - 1) * pass);
        }
    }

    /** Detached activations belong to the caller, also those that a locked normalisation made without a workspace. */
    @ParameterizedTest
    @MethodSource("everyNetworkModeAndLevel")
    void activations_heldByTheCaller_surviveLaterPasses(
            NormalizedNetworks network, WorkspaceMode mode, MemOptConfig config) {
        Model model = network.create(mode);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            INDArray x = network.data(BATCH, 1).getFeatures();
            List<INDArray> held = new ArrayList<>(feedForward(model, x, true));
            held.addAll(feedForward(model, x, false));
            List<INDArray> copies = held.stream().map(array -> array.dup('c')).toList();

            for (int i = 0; i < 4; i++) {
                Networks.fit(model, network.data(BATCH, i));
                output(model, x);
            }

            assertThat(memopt.summary().releasedBytes()).isPositive();
            for (int i = 0; i < held.size(); i++) {
                assertThat(held.get(i).wasClosed()).isFalse();
                assertThat(ArrayBits.equal(held.get(i).dup('c'), copies.get(i))).isTrue();
            }
        }
    }

    /** Without workspaces a listener may keep what it is given; of a locked normalisation that is the normalised input. */
    @ParameterizedTest
    @EnumSource(NormalizedNetworks.class)
    void activations_keptByAListener_surviveTheBackwardPass(NormalizedNetworks network) {
        Model model = network.create(WorkspaceMode.NONE);
        List<INDArray> kept = new ArrayList<>();
        model.setListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model of, List<INDArray> activations) {
                kept.addAll(activations);
            }

            @Override
            public void onForwardPass(Model of, Map<String, INDArray> activations) {
                kept.addAll(activations.values());
            }
        });
        try (MemOpt memopt = MemOpt.attach(model, RELEASED)) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, network.data(BATCH, i));
            }

            assertThat(memopt.summary().releasedBytes()).isPositive();
            assertThat(kept).isNotEmpty().noneMatch(INDArray::wasClosed);
        }
    }

    /** The forward pass is over, other networks have worked since, and only then errors come from outside. */
    @ParameterizedTest
    @EnumSource(
            value = WorkspaceMode.class,
            names = {"ENABLED", "NONE"})
    void externalErrors_longAfterTheForwardPass_giveTheSameGradients(WorkspaceMode mode) {
        INDArray plain = externalGradients(mode, false);
        INDArray released = externalGradients(mode, true);

        assertThat(ArrayBits.equal(released, plain)).isTrue();
    }

    private static INDArray externalGradients(WorkspaceMode mode, boolean release) {
        NormalizedNetworks family = NormalizedNetworks.IMAGES;
        MultiLayerNetwork network = NormalizedNetworks.withoutLoss(mode);
        Model other = NormalizedNetworks.GRAPH.create(mode);
        List<MemOpt> handles = release ? List.of(MemOpt.attach(network, RELEASED), MemOpt.attach(other)) : List.of();
        for (int i = 0; i < 3; i++) {
            network.output(family.data(BATCH, i).getFeatures());
            network.setInput(family.data(BATCH, i).getFeatures());
            network.feedForward(true, false);
            Networks.fit(other, NormalizedNetworks.GRAPH.data(BATCH, i));
            network.backpropGradient(
                    Nd4j.ones(BATCH, NormalizedNetworks.CLASSES).muli(0.1 * (i + 1)), LayerWorkspaceMgr.noWorkspaces());
        }
        INDArray gradients = network.getGradientsViewArray().dup();
        handles.forEach(MemOpt::close);
        return gradients;
    }

    @Test
    void close_endsIt_andTrainingGoesOn() {
        Model model = NormalizedNetworks.IMAGES.create(WorkspaceMode.ENABLED);
        MemOpt memopt = MemOpt.attach(model, RELEASED);
        Networks.fit(model, NormalizedNetworks.IMAGES.data(BATCH, 1));
        long released = memopt.summary().releasedBytes();
        memopt.close();

        Networks.fit(model, NormalizedNetworks.IMAGES.data(BATCH, 2));

        assertThat(released).isPositive();
        assertThat(memopt.summary().releasedBytes()).isEqualTo(released);
    }

    @Test
    void observation_alone_releasesNothing() {
        Model model = NormalizedNetworks.IMAGES.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            Networks.fit(model, NormalizedNetworks.IMAGES.data(BATCH, 1));

            assertThat(memopt.summary().releasedBytes()).isZero();
            assertThat(memopt.summary().toString()).doesNotContain("as soon as they were dead");
        }
    }

    private static AutoCloseable releasing(Model model, MemOptConfig config) {
        assertThat(MemoryHooks.installed()).isFalse();
        MemOpt memopt = MemOpt.attach(model, config);
        return () -> {
            assertThat(memopt.summary().releasedBytes()).isPositive();
            memopt.close();
        };
    }

    private static INDArray output(Model model, INDArray features) {
        return model instanceof MultiLayerNetwork network
                ? network.output(features)
                : ((ComputationGraph) model).outputSingle(features);
    }

    private static List<INDArray> feedForward(Model model, INDArray features, boolean train) {
        return model instanceof MultiLayerNetwork network
                ? network.feedForward(features, train)
                : List.copyOf(
                        ((ComputationGraph) model).feedForward(features, train).values());
    }
}
