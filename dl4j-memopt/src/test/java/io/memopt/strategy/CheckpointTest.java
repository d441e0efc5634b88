// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Checkpointing changes no bit, and keeps less. */
class CheckpointTest {
    private static final int SETTLED = 4;
    private static final MemOptConfig LEAST =
            MemOptConfig.builder().activationShare(0).build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "LENET",
                "VGG",
                "LSTM_LENGTHS",
                "BIDIRECTIONAL",
                "EMBEDDING_MASKED",
                "RESIDUAL_GRAPH",
                "MULTI_OUTPUT_FROZEN"
            })
    void leastActivations_changeNoBit(TrainingCases each) {
        TwinRun.of(each::create, (model, i) -> TrainingCases.fit(model, each.data(i)))
                .iterations(5)
                .compare(model -> MemOpt.attach(model, LEAST))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(names = {"VGG", "RESIDUAL_GRAPH"})
    void halfOfTheActivations_withPlans_changesNoBit(TrainingCases each) {
        MemOptConfig config =
                MemOptConfig.builder().activationShare(0.5).reuse(Reuse.PLANNED).build();
        TwinRun.of(each::create, (model, i) -> TrainingCases.fit(model, each.data(i)))
                .iterations(8)
                .compare(model -> {
                    MemOpt memopt = MemOpt.attach(model, config);
                    return () -> {
                        assertThat(memopt.plans())
                                .filteredOn(plan -> plan.state().equals("TRUSTED"))
                                .extracting(PlanRow::served)
                                .anyMatch(served -> served >= 4);
                        memopt.close();
                    };
                })
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(names = {"RELEASED", "SIZED"})
    void graph_withOtherReuse_changesNoBit(Reuse reuse) {
        MemOptConfig config =
                MemOptConfig.builder().activationShare(0).reuse(reuse).build();
        TwinRun.of(
                        TrainingCases.RESIDUAL_GRAPH::create,
                        (model, i) -> TrainingCases.fit(model, TrainingCases.RESIDUAL_GRAPH.data(i)))
                .iterations(8)
                .compare(model -> MemOpt.attach(model, config))
                .requireBitwise();
    }

    /** No layer of it couples examples, so that parts add up; with one part they are the minibatch itself. */
    @Test
    void graph_inParts_isTheSameWithCheckpointsAndWithout() {
        float[] parts = trained(MemOptConfig.builder().microBatch(2).build());
        float[] both =
                trained(MemOptConfig.builder().microBatch(2).activationShare(0).build());

        assertThat(both).isEqualTo(parts);
    }

    private static float[] trained(MemOptConfig config) {
        MemoryHooks.uninstall();
        Model model = TrainingCases.MULTI_OUTPUT_FROZEN.create();
        Nd4j.getRandom().setSeed(5);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 6; i++) {
                TrainingCases.fit(model, TrainingCases.MULTI_OUTPUT_FROZEN.data(i));
            }
        }
        return model.params().dup().data().asFloat();
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(doubles = {0, 0.4})
    void resNet50_changesNoBit(double share) {
        TwinRun.of(
                        TrainingCases.ZOO_RESNET50::create,
                        (model, i) -> TrainingCases.fit(model, TrainingCases.ZOO_RESNET50.data(i)))
                .iterations(6)
                .compare(model -> MemOpt.attach(
                        model,
                        MemOptConfig.builder()
                                .activationShare(share)
                                .reuse(Reuse.PLANNED)
                                .build()))
                .requireBitwise();
    }

    @Test
    void leastActivations_areLessThanAll() {
        Supplier<Model> networks = () -> Networks.VGG.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.VGG.data(16, 0);

        long all = workspaces(networks, data, MemOptConfig.defaults()).get("WS_ALL_LAYERS_ACT");
        Map<String, Long> least = workspaces(networks, data, LEAST);

        assertThat(least.get("WS_ALL_LAYERS_ACT") + least.get(NetworkWorkspaces.SEGMENT))
                .isLessThan(all * 3 / 5);
    }

    @Tag("soak")
    @Test
    void vggLike_keepsAtMostTwoFifths() {
        DataSet data = ReferenceNetworks.VGG_LIKE.data(0);
        Map<String, Long> plain = workspaces(ReferenceNetworks.VGG_LIKE::create, data, MemOptConfig.defaults());
        Map<String, Long> least = workspaces(ReferenceNetworks.VGG_LIKE::create, data, LEAST);
        System.out.println("VGG-like batch 32, plain:        " + plain);
        System.out.println("VGG-like batch 32, checkpointed: " + least);

        long all = plain.get("WS_ALL_LAYERS_ACT");
        long kept = least.get("WS_ALL_LAYERS_ACT") + least.get(NetworkWorkspaces.SEGMENT);
        assertThat(kept).isLessThanOrEqualTo(all * 2 / 5);
    }

    @Test
    void listenerThatReadsActivations_getsThemAll() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        int[] seen = new int[1];
        try (MemOpt memopt = MemOpt.attach(network, LEAST)) {
            network.fit(Networks.LENET.data(4, 0));
            network.addListeners(new BaseTrainingListener() {
                @Override
                public void onForwardPass(Model model, List<INDArray> activations) {
                    seen[0] = activations.size();
                }
            });
            network.fit(Networks.LENET.data(4, 1));
            assertThat(memopt.summary().notes()).anyMatch(note -> note.startsWith("Checkpointing: "));
        }
        assertThat(seen[0]).isEqualTo(network.getnLayers());
    }

    @Test
    void withoutWorkspaces_isRefused() {
        Model network = Networks.LENET.create(WorkspaceMode.NONE);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(network, LEAST))
                .withMessageContaining("WorkspaceMode.NONE");
    }

    /** Bytes of each workspace of the thread once training has settled. */
    private static Map<String, Long> workspaces(Supplier<Model> networks, DataSet data, MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = networks.get();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < SETTLED; i++) {
                Networks.fit(model, data);
            }
            Map<String, Long> sizes = new TreeMap<>();
            memopt.summary().workspaces().forEach(row -> sizes.put(row.name(), row.reservedBytes()));
            return sizes;
        }
    }
}
