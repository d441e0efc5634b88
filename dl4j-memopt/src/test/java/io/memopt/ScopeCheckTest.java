// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.testing.Networks;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Arrays that are read after their workspace moved on are found, and nothing else is. */
class ScopeCheckTest {
    private static final MemOptConfig CHECK =
            MemOptConfig.builder().scopeCheck(true).build();

    @AfterEach
    void uninstall() {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        MemoryHooks.uninstall();
    }

    @Test
    void elementReadAfterWorkspaceWasFilledAgain_isFound() {
        try (MemOpt memopt = MemOpt.attach(Networks.mlp(4, 4, 2), CHECK)) {
            INDArray x;
            try (MemoryWorkspace scope = open("A")) {
                x = Nd4j.ones(DataType.FLOAT, 100, 100);
                assertThat(x.getDouble(0, 0)).isEqualTo(1);
            }
            try (MemoryWorkspace scope = open("A")) {
                Nd4j.valueArrayOf(new long[] {100, 100}, 7f, DataType.FLOAT);
            }

            assertThat(x.getDouble(0, 0)).isEqualTo(7); // what the check is for: wrong, and no exception

            List<ScopeFinding> findings = memopt.scopeFindings();
            assertThat(findings).hasSize(1);
            ScopeFinding finding = findings.get(0);
            assertThat(finding.workspace()).isEqualTo("A");
            assertThat(finding.generationMade()).isEqualTo(1);
            assertThat(finding.generationUsed()).isEqualTo(2);
            assertThat(finding.movedOn()).isTrue();
            assertThat(finding.bytes()).isEqualTo(100 * 100 * 4);
            assertThat(finding.madeAt()).contains("ScopeCheckTest.elementReadAfterWorkspaceWasFilledAgain_isFound");
            assertThat(finding.usedAt()).contains("ScopeCheckTest.elementReadAfterWorkspaceWasFilledAgain_isFound");
            assertThat(finding.message())
                    .contains("39.1 KiB (40000 B)", "workspace A, scope 1", "in scope 2", "detach()", "leverageTo");
        }
    }

    @Test
    void activationKeptByListener_isFoundWithItsLayer() {
        MultiLayerNetwork network = Networks.mlp(20, 64, 4);
        Keeper keeper = new Keeper(false);
        network.addListeners(keeper);
        try (MemOpt memopt = MemOpt.attach(network, CHECK)) {
            DataSet data = new DataSet(Nd4j.rand(DataType.FLOAT, 8, 20), labels(8, 4));
            for (int i = 0; i < 3; i++) {
                network.fit(data);
            }
            assertThat(memopt.scopeFindings()).isEmpty();

            keeper.first.getDouble(0);

            List<ScopeFinding> findings = memopt.scopeFindings();
            assertThat(findings).hasSize(1);
            ScopeFinding finding = findings.get(0);
            assertThat(finding.workspace()).isEqualTo("WS_ALL_LAYERS_ACT");
            assertThat(finding.maker().layer()).isEqualTo("layer0");
            assertThat(finding.maker().phase()).isEqualTo(Phase.FORWARD);
            assertThat(finding.generationUsed()).isGreaterThan(finding.generationMade());
            assertThat(finding.madeAt()).contains("in MultiLayerNetwork.fit");
            assertThat(finding.message()).contains("made by layer layer0 (" + memopt.name() + ", phase forward)");
        }
    }

    @Test
    void activationDetachedByListener_isFine() {
        MultiLayerNetwork network = Networks.mlp(20, 64, 4);
        Keeper keeper = new Keeper(true);
        network.addListeners(keeper);
        try (MemOpt memopt = MemOpt.attach(network, CHECK)) {
            DataSet data = new DataSet(Nd4j.rand(DataType.FLOAT, 8, 20), labels(8, 4));
            for (int i = 0; i < 3; i++) {
                network.fit(data);
            }
            keeper.first.getDouble(0);

            assertThat(memopt.scopeFindings()).isEmpty();
        }
    }

    @Test
    void rowsPulledFromStaleArray_areFound_thoughNd4jLetsItPass() {
        try (MemOpt memopt = MemOpt.attach(Networks.mlp(4, 4, 2), CHECK)) {
            INDArray x;
            try (MemoryWorkspace scope = open("A")) {
                x = Nd4j.ones(DataType.FLOAT, 10, 10);
            }
            try (MemoryWorkspace scope = open("A")) {
                Nd4j.valueArrayOf(new long[] {10, 10}, 7f, DataType.FLOAT);
            }

            INDArray rows = Nd4j.pullRows(x, 1, new int[] {2, 3});

            assertThat(rows.getDouble(0, 0)).isEqualTo(7);
            assertThat(memopt.scopeFindings())
                    .isNotEmpty()
                    .allSatisfy(finding -> assertThat(finding.workspace()).isEqualTo("A"));
        }
    }

    @Test
    void manyReadsInOnePlace_areOneFindingWithACount() {
        try (MemOpt memopt = MemOpt.attach(Networks.mlp(4, 4, 2), CHECK)) {
            INDArray x;
            try (MemoryWorkspace scope = open("A")) {
                x = Nd4j.ones(DataType.FLOAT, 10);
            }
            for (int i = 0; i < 10; i++) {
                x.getDouble(i);
            }
            assertThat(memopt.scopeFindings()).hasSize(1);
            assertThat(memopt.scopeFindings().get(0).count()).isEqualTo(10);
            assertThat(memopt.scopeFindings().get(0).movedOn()).isFalse();
            assertThat(memopt.summary().toString()).contains("10 times: Array of 40 B used after its scope");
        }
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void cleanTrainingAndInference_haveNoFindings(Networks family) {
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, CHECK)) {
            for (int i = 0; i < 12; i++) {
                Networks.fit(model, family.data(4, i));
                assertThat(model.score()).isFinite();
            }
            assertThat(memopt.scopeFindings()).isEmpty();
        }
    }

    private static final class Keeper extends BaseTrainingListener {
        private final boolean detach;
        private INDArray first;

        Keeper(boolean detach) {
            this.detach = detach;
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            if (first == null) {
                first = detach ? activations.get(1).detach() : activations.get(1);
            }
        }
    }

    private static INDArray labels(int rows, int classes) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, rows, classes);
        for (int i = 0; i < rows; i++) {
            labels.putScalar(i, i % classes, 1);
        }
        return labels;
    }

    private static MemoryWorkspace open(String id) {
        WorkspaceConfiguration configuration = WorkspaceConfiguration.builder()
                .initialSize(1 << 20)
                .policyLearning(LearningPolicy.NONE)
                .build();
        return Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id);
    }
}
