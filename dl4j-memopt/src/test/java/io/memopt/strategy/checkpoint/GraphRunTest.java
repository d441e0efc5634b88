// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.offload.OutputStore;
import io.memopt.strategy.offload.SimulatedLanes;
import io.memopt.verify.TwinRun;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Segments of a graph give the very gradients and scores of Deeplearning4j's own pass, wherever it is cut. */
class GraphRunTest {
    private static final int SOME_CUTS = 8;
    private static final int MANY_CUTS = 60;

    @TempDir
    Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource
    void someCuts_changeNoBitOfGradientAndScore(GraphCases each) {
        compareCuts(each, SOME_CUTS);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource
    void manyCuts_changeNoBitOfGradientAndScore(GraphCases each) {
        compareCuts(each, MANY_CUTS);
    }

    /** So many random cuts, and all that there can be, with outputs kept in files, on the host of a device, and where they are. */
    private void compareCuts(GraphCases each, int count) {
        ComputationGraph graph = each.create();
        graph.fit(each.data(1));
        give(graph, each.data(2));
        Nd4j.getRandom().setSeed(3);
        graph.computeGradientAndScore();
        float[] gradients = gradients(graph);
        double score = graph.score();
        RandomState drawnTo = RandomState.now();
        TrainingTracker tracker = new TrainingTracker(MemoryHooks.install());
        Random random = new Random(5);
        GraphOrder order = new GraphOrder(graph);
        boolean cut = false;
        SimulatedLanes.Pace[] paces = SimulatedLanes.Pace.values();
        try (SimulatedLanes.Installed device = SimulatedLanes.install(paces[each.ordinal() % paces.length]);
                OutputStore files = OutputStore.in(Offload.files(folder));
                OutputStore host = OutputStore.in(Offload.HOST)) {
            for (int i = 0; i <= count; i++) {
                Segments segments = cuts(order, i == count ? 1 : random.nextDouble(), random);
                cut |= segments.count() > 3;
                give(graph, each.data(2));
                graph.getFlattenedGradients().assign(0);
                Nd4j.getRandom().setSeed(3);
                OutputStore store = i % 3 == 0 ? files : i % 3 == 1 || i == count ? host : null;
                new GraphRun(graph, new PassVisits(tracker, graph), segments, store, false).compute();

                assertThat(gradients(graph)).as("%s", segments).isEqualTo(gradients);
                assertThat(graph.score()).as("%s", segments).isEqualTo(score);
                assertThat(RandomState.now()).as("%s", segments).isEqualTo(drawnTo);
                assertThat(device.lanes().remembered()).isZero();
                assertThat(device.lanes().underWay()).isZero();
            }
            assertThat(device.lanes().figures().toHostCopies()).isPositive();
        }
        assertThat(cut).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void leastActivations_trainToTheSameBits(GraphCases each) {
        TwinRun.of(each::create, (model, i) -> ((ComputationGraph) model).fit(each.data(i)))
                .iterations(5)
                .compare(model -> MemOpt.attach(
                        model, MemOptConfig.builder().activationShare(0).build()))
                .requireBitwise();
    }

    @Test
    void dropoutThatWritesIntoItsInput_forbidsCutsAcrossIt() {
        ComputationGraph graph = GraphCases.RANDOM_AND_AUXILIARY.create();
        GraphOrder order = new GraphOrder(graph);

        assertThat(order.keepable(position(order, "shared"))).isFalse();
        assertThat(order.keepable(position(order, "product"))).isTrue();
        assertThat(order.cuttable(position(order, "shared") + 1)).isFalse();
    }

    @Test
    void listenerThatReadsActivations_getsThemAll() {
        ComputationGraph graph = GraphCases.RESIDUAL.create();
        List<Integer> seen = new ArrayList<>();
        graph.addListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, Map<String, INDArray> activations) {
                seen.add(activations.size());
            }
        });
        try (MemOpt memopt =
                MemOpt.attach(graph, MemOptConfig.builder().activationShare(0).build())) {
            graph.fit(GraphCases.RESIDUAL.data(1));
        }
        assertThat(seen).containsExactly(graph.getVertices().length - 1);
    }

    /** Cut with {@code probability} wherever that is allowed. */
    private static Segments cuts(GraphOrder order, double probability, Random random) {
        List<Integer> ends = new ArrayList<>();
        for (int end = 1; end < order.length(); end++) {
            if (order.cuttable(end) && random.nextDouble() < probability) {
                ends.add(end);
            }
        }
        ends.add(order.length());
        return new Segments(ends);
    }

    private static int position(GraphOrder order, String vertex) {
        for (int i = 0; i < order.length(); i++) {
            if (order.vertex(i).getVertexName().equals(vertex)) {
                return i;
            }
        }
        throw new IllegalArgumentException(vertex);
    }

    private static void give(ComputationGraph graph, MultiDataSet data) {
        graph.setInputs(data.getFeatures());
        graph.setLabels(data.getLabels());
        graph.setLayerMaskArrays(data.getFeaturesMaskArrays(), data.getLabelsMaskArrays());
    }

    private static float[] gradients(ComputationGraph graph) {
        INDArray flat = graph.getFlattenedGradients();
        return Arrays.copyOf(flat.dup().data().asFloat(), (int) flat.length());
    }
}
