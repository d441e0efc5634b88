// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

class PlannedReuseTest {
    private static final int ITERATIONS = 20;
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @ParameterizedTest
    @EnumSource(Networks.class)
    void training_withInferenceBetween_equalsPlainBitForBit(Networks family) {
        Run plain = run(family, false, i -> 8);
        Run planned = run(family, true, i -> 8);
        assertThat(planned.scores).containsExactlyElementsOf(plain.scores);
        assertThat(ArrayBits.equal(planned.params, plain.params)).isTrue();
        assertThat(planned.plans).isNotEmpty().allSatisfy(plan -> {
            assertThat(plan.state()).isEqualTo("TRUSTED");
            assertThat(plan.arenaBytes()).isLessThanOrEqualTo(plan.scopeBytes());
            assertThat(1.0 * plan.arenaBytes() / plan.lowerBoundBytes()).isLessThanOrEqualTo(1.01);
            assertThat(plan.missed()).isZero();
        });
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void newBatch_afterTwoSmallOnes_isPlannedBeforeItRuns(Networks family) {
        IntUnaryOperator batch = i -> i < 15 ? 2 + i % 2 : 12;
        Run plain = run(family, false, batch);
        Run planned = run(family, true, batch);
        assertThat(planned.scores).containsExactlyElementsOf(plain.scores);
        assertThat(ArrayBits.equal(planned.params, plain.params)).isTrue();
        assertThat(planned.plans)
                .filteredOn(plan -> plan.pass().startsWith("WS_ALL_LAYERS_ACT batch 12"))
                .isNotEmpty()
                .allSatisfy(plan -> assertThat(plan.derived()).isTrue())
                .allSatisfy(plan -> assertThat(plan.missed()).isZero());
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void rehearsed_firstMinibatchRunsInTheArena(Networks family) {
        Run plain = run(family, false, i -> 12);
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, PLANNED)) {
            memopt.rehearse(family.data(3, 0));
            Networks.fit(model, family.data(12, 0));
            assertThat(model.score()).isEqualTo(plain.scores.get(0));
            assertThat(memopt.plans())
                    .filteredOn(plan -> plan.pass().startsWith("WS_ALL_LAYERS_ACT batch 12"))
                    .hasSize(1)
                    .allSatisfy(plan -> assertThat(plan.derived()).isTrue())
                    .allSatisfy(plan -> assertThat(plan.served()).isOne());
            assertThat(memopt.summary().notes()).anyMatch(note -> note.contains("1 pass served, 0 missed"));
        }
    }

    @Test
    void profile_nextRunIsPlannedFromTheFirstMinibatch(@TempDir Path folder) {
        MemOptConfig kept = MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .planProfile(folder.resolve("plans.json"))
                .build();
        double first = firstScore(kept, 0);
        assertThat(firstScore(kept, 1)).isEqualTo(first);
    }

    /** A score keeps no activations in workspaces: it is a pass for each vertex. */
    @Test
    void scoreOfADeepGraph_leavesTrainingsPlan() {
        ComputationGraph graph = normalizations(66);
        DataSet data = new DataSet(Nd4j.rand(4, 4), Nd4j.rand(4, 4));
        try (MemOpt memopt = MemOpt.attach(graph, PLANNED)) {
            graph.fit(data);
            graph.score(data);
            graph.fit(data);
            assertThat(memopt.plans()).hasSizeGreaterThan(66);
            assertThat(memopt.plans())
                    .filteredOn(plan -> plan.pass().startsWith("WS_ALL_LAYERS_ACT batch 4"))
                    .singleElement()
                    .satisfies(plan -> assertThat(plan.served()).isOne());
        }
    }

    private static ComputationGraph normalizations(int layers) {
        ComputationGraphConfiguration.GraphBuilder builder =
                new NeuralNetConfiguration.Builder().graphBuilder().addInputs("in");
        String last = "in";
        for (int i = 0; i < layers; i++) {
            builder.addLayer(
                    "norm" + i, new BatchNormalization.Builder().nIn(4).nOut(4).build(), last);
            last = "norm" + i;
        }
        builder.addLayer("out", new OutputLayer.Builder().nIn(4).nOut(4).build(), last)
                .setOutputs("out");
        ComputationGraph graph = new ComputationGraph(builder.build());
        graph.init();
        return graph;
    }

    private static double firstScore(MemOptConfig config, int served) {
        Nd4j.getRandom().setSeed(7);
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            Networks.fit(model, Networks.VGG.data(8, 0));
            assertThat(memopt.plans()).singleElement().satisfies(plan -> {
                assertThat(plan.state()).isEqualTo("TRUSTED");
                assertThat(plan.served()).isEqualTo(served);
            });
            return model.score();
        }
    }

    @Test
    void profile_corrupt_isTold_andTrainingGoesOn(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("plans.json"), "{\"format\": \"other\"}");
        MemOptConfig kept =
                MemOptConfig.builder().reuse(Reuse.PLANNED).planProfile(file).build();
        firstScore(kept, 0);
        firstScore(kept, 1);
    }

    @Test
    void profileWithoutReuse_isRefused() {
        assertThatThrownBy(() -> MemOptConfig.builder()
                        .planProfile(Path.of("plans.json"))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("planProfile=plans.json but reuse=OFF, expected SIZED or PLANNED");
    }

    private record Run(INDArray params, List<Double> scores, List<PlanRow> plans) {}

    private static Run run(Networks family, boolean planned, IntUnaryOperator batch) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        List<Double> scores = new ArrayList<>();
        List<PlanRow> plans = List.of();
        MemOpt memopt = planned ? MemOpt.attach(model, PLANNED) : null;
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(batch.applyAsInt(i), i % 5));
            scores.add(model.score());
            if (i % 4 == 3) {
                scores.add(output(model, family.data(batch.applyAsInt(i), 1).getFeatures()));
            }
        }
        if (memopt != null) {
            plans = memopt.plans();
            System.out.println(
                    family + "\n" + plans.stream().map(PlanRow::toString).collect(Collectors.joining("\n")));
            memopt.close();
        }
        return new Run(model.params().dup(), scores, plans);
    }

    private static double output(Model model, INDArray features) {
        INDArray out = model instanceof MultiLayerNetwork network
                ? network.output(features)
                : ((ComputationGraph) model).outputSingle(features);
        return out.sumNumber().doubleValue();
    }
}
