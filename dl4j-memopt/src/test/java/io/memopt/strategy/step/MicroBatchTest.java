// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinResult;
import io.memopt.verify.TwinRun;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Gradients of parts are those of the minibatch, within what another order of summation makes of them. */
class MicroBatchTest {
    /** Of parameters below 1 after five iterations, and of scores up to 60; the largest seen is 3e-6. */
    private static final double BOUND = 1e-5;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NOISY")
    void parts_sumToTheMinibatch(StepNetworks each) {
        for (int size : new int[] {1, 4, 5, 7}) {
            TwinResult result =
                    twin(each, MemOptConfig.builder().microBatch(size).build());
            System.out.println("micro-batches of " + size + ", " + each + ": " + result.attached());
            result.require(Exactness.REORDERED, BOUND);
            assertThat(result.attached().isBitwise()).as("parts were computed").isFalse();
        }
    }

    @ParameterizedTest
    @EnumSource
    void wholeMinibatches_areBitwise(StepNetworks each) {
        twin(each, MemOptConfig.builder().microBatch(StepNetworks.BATCH).build())
                .requireBitwise();
    }

    @Test
    void plannedReuse_changesNoBitOfParts() {
        List<INDArray> params = new ArrayList<>();
        for (Reuse reuse : new Reuse[] {Reuse.OFF, Reuse.PLANNED}) {
            Nd4j.getRandom().setSeed(7);
            Model model = StepNetworks.LENET.create();
            try (MemOpt memopt = MemOpt.attach(
                    model, MemOptConfig.builder().microBatch(5).reuse(reuse).build())) {
                for (int i = 0; i < 6; i++) {
                    StepNetworks.fit(model, StepNetworks.LENET.data(i));
                }
                if (reuse == Reuse.PLANNED) {
                    assertThat(memopt.plans()).extracting(PlanRow::state).containsOnly("TRUSTED");
                    assertThat(memopt.plans()).extracting(PlanRow::served).anyMatch(served -> served >= 8);
                }
            }
            params.add(model.params().dup());
        }
        assertThat(params.get(1)).isEqualTo(params.get(0));
    }

    @Test
    void listeners_hearOfEachIterationOnce() {
        MultiLayerNetwork network = (MultiLayerNetwork) StepNetworks.LENET.create();
        List<String> heard = new ArrayList<>();
        network.setListeners(new Recorder(heard));
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().microBatch(3).build())) {
            StepNetworks.fit(network, StepNetworks.LENET.data(0));
            assertThat(memopt.summary().toString()).isNotEmpty();
        }
        assertThat(heard).containsExactly("forward", "backward", "gradients", "done 0");
        assertThat(network.getIterationCount()).isEqualTo(1);
        assertThat(network.getInput().size(0)).isEqualTo(StepNetworks.BATCH);
    }

    @Test
    void batchNormalization_isRefusedByName() {
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder().microBatch(4).build();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(model, config))
                .withMessageContaining("microBatch=4")
                .withMessageContaining("layer1")
                .withMessageContaining("BatchNormalization");
    }

    @Test
    void accumulated_halvesAreTheWhole() {
        List<String> heard = new ArrayList<>();
        MultiLayerNetwork whole = (MultiLayerNetwork) StepNetworks.LENET.create();
        MultiLayerNetwork halves = (MultiLayerNetwork) StepNetworks.LENET.create();
        halves.setListeners(new Recorder(heard));
        try (MemOpt memopt =
                MemOpt.attach(halves, MemOptConfig.builder().accumulate(2).build())) {
            for (int i = 0; i < 4; i++) {
                DataSet data = Networks.LENET.data(10, i);
                whole.fit(data);
                DataSet all = data;
                halves.fit(new DataSet(rows(all.getFeatures(), 0, 4), rows(all.getLabels(), 0, 4)));
                halves.fit(new DataSet(rows(all.getFeatures(), 4, 10), rows(all.getLabels(), 4, 10)));
                assertThat(halves.score()).isCloseTo(whole.score(), within(1e-6));
            }
            assertThat(halves.getIterationCount()).isEqualTo(4);
            assertThat(heard.stream().filter(call -> call.startsWith("done"))).hasSize(4);
            assertThat(distance(halves, whole)).isLessThan(BOUND);

            halves.fit(Networks.LENET.data(10, 9));
            whole.fit(Networks.LENET.data(10, 9));
            assertThat(halves.getIterationCount()).isEqualTo(4);
            memopt.applyGathered();
            assertThat(halves.getIterationCount()).isEqualTo(5);
            assertThat(distance(halves, whole)).isLessThan(BOUND);
            memopt.applyGathered();
            assertThat(halves.getIterationCount()).isEqualTo(5);
        }
    }

    @Test
    void parts_needFewerBytes() {
        long whole = workspaceBytes(MemOptConfig.defaults());
        long parts = workspaceBytes(MemOptConfig.builder().microBatch(16).build());
        System.out.println("LeNet batch 64, workspaces: " + whole + " B, in micro-batches of 16 " + parts + " B");
        assertThat(parts).isLessThan(whole * 3 / 10);
    }

    private static long workspaceBytes(MemOptConfig config) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = ReferenceNetworks.LENET.create();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 4; i++) {
                Networks.fit(model, ReferenceNetworks.LENET.data(i));
            }
            return MemoryHooks.recording().ledger().reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);
        }
    }

    private static TwinResult twin(StepNetworks each, MemOptConfig config) {
        return TwinRun.of(each::create, (model, i) -> StepNetworks.fit(model, each.data(i)))
                .iterations(5)
                .compare(model -> MemOpt.attach(model, config));
    }

    private static INDArray rows(INDArray array, int from, int to) {
        return array.get(NDArrayIndex.interval(from, to)).dup();
    }

    private static double distance(Model one, Model other) {
        return one.params().sub(other.params()).amaxNumber().doubleValue();
    }

    /** Which callbacks came, in order. */
    private static final class Recorder extends BaseTrainingListener {
        private final List<String> heard;

        private Recorder(List<String> heard) {
            this.heard = heard;
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            heard.add("forward");
        }

        @Override
        public void onBackwardPass(Model model) {
            heard.add("backward");
        }

        @Override
        public void onGradientCalculation(Model model) {
            heard.add("gradients");
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            heard.add("done " + iteration);
        }
    }
}
