// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.util.List;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** What advice on modes says is true when it is followed. */
class ModeAdviceTest {

    private record Trained(INDArray params, long blockBytes, List<String> notes) {}

    @BeforeEach
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void cacheMode_none_takesLess_andChangesNoBit() {
        Trained cached = train(Networks.LENET, WorkspaceMode.ENABLED, network -> cacheMode(network, CacheMode.DEVICE));
        Trained followed = train(Networks.LENET, WorkspaceMode.ENABLED, network -> {
            cacheMode(network, CacheMode.DEVICE);
            cacheMode(network, CacheMode.NONE);
        });
        assertThat(cached.notes)
                .anySatisfy(note -> assertThat(note)
                        .contains(
                                "has CacheMode.DEVICE",
                                "setCacheMode(CacheMode.NONE)",
                                "before the first pass",
                                "budget"));
        assertThat(followed.notes).noneMatch(note -> note.contains("CacheMode"));
        assertThat(followed.blockBytes).isLessThan(cached.blockBytes);
        assertThat(ArrayBits.equal(followed.params, cached.params)).isTrue();
    }

    @Test
    void workspaceMode_none_isAdvisedAgainst_forTrainingAndInference() {
        Trained without = train(Networks.VGG, WorkspaceMode.NONE, network -> {});
        Trained followed = train(Networks.VGG, WorkspaceMode.NONE, network -> {
            network.getLayerWiseConfigurations().setTrainingWorkspaceMode(WorkspaceMode.ENABLED);
            network.getLayerWiseConfigurations().setInferenceWorkspaceMode(WorkspaceMode.ENABLED);
        });
        assertThat(without.notes)
                .anySatisfy(note -> assertThat(note)
                        .contains("trains with WorkspaceMode.NONE", "setTrainingWorkspaceMode(WorkspaceMode.ENABLED)"))
                .anySatisfy(note -> assertThat(note)
                        .contains(
                                "infers with WorkspaceMode.NONE", "setInferenceWorkspaceMode(WorkspaceMode.ENABLED)"));
        assertThat(followed.notes).noneMatch(note -> note.contains("WorkspaceMode.NONE"));
        assertThat(ArrayBits.equal(followed.params, without.params)).isTrue();
    }

    @Test
    void defaults_needNoAdvice() {
        Model graph = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        assertThat(ModeAdvice.of("net", graph)).isEmpty();
        ((ComputationGraph) graph).getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.NONE);
        assertThat(ModeAdvice.of("net", graph))
                .singleElement()
                .asString()
                .startsWith("net trains with WorkspaceMode.NONE")
                .contains("net.getConfiguration().setTrainingWorkspaceMode");
    }

    private static void cacheMode(MultiLayerNetwork network, CacheMode mode) {
        network.setCacheMode(mode);
        network.getLayerWiseConfigurations().setCacheMode(mode);
    }

    private static Trained train(Networks family, WorkspaceMode mode, Consumer<MultiLayerNetwork> change) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        MultiLayerNetwork network = (MultiLayerNetwork) family.create(mode);
        change.accept(network);
        try (MemOpt memopt = MemOpt.attach(network)) {
            for (int i = 0; i < 8; i++) {
                Networks.fit(network, family.data(8, i));
            }
            long blocks = MemoryHooks.recording().ledger().accounts().stream()
                    .mapToLong(account -> account.reservedBytes(MemorySpace.HOST))
                    .sum();
            return new Trained(network.params().dup(), blocks, memopt.summary().notes());
        }
    }
}
