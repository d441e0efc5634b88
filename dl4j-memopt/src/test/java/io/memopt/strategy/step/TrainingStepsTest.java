// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.listeners.training.Trackers;
import io.memopt.strategy.SolverAccess;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/** Our optimizer in a network's solver: no difference when nothing is chosen, there as long as it should be. */
class TrainingStepsTest {
    private static final StepOptions PARTS = new StepOptions(3, 1, 1);

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource
    void plainOptions_changeNoBit(StepNetworks each) {
        TwinRun.of(each::create, (model, i) -> StepNetworks.fit(model, each.data(i)))
                .iterations(8)
                .compare(model -> attached(model, StepOptions.PLAIN))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource
    void plainOptions_withNormalization_changeNoBit(Networks each) {
        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> Networks.fit(model, each.data(4, i)))
                .iterations(8)
                .compare(model -> attached(model, StepOptions.PLAIN))
                .requireBitwise();
    }

    @ParameterizedTest
    @EnumSource(names = {"LENET", "RESIDUAL_GRAPH"})
    void attachAmidTraining_keepsUpdaterAndOptimizer(Networks each) {
        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> {
                    if (i == 3) {
                        ConvexOptimizer before = SolverAccess.current(model);
                        try (TrainingSteps steps = attached(model, StepOptions.PLAIN)) {
                            assertThat(SolverAccess.current(model)).isInstanceOf(ControlledStep.class);
                            Networks.fit(model, each.data(4, i));
                        }
                        assertThat(SolverAccess.current(model)).isSameAs(before);
                    } else {
                        Networks.fit(model, each.data(4, i));
                    }
                })
                .iterations(6)
                .compare(model -> () -> {})
                .requireBitwise();
    }

    @Test
    void clearedNetwork_hasOurStepFromTheNextEpochOn() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        List<DataSet> batches = new ArrayList<>(List.of(Networks.LENET.data(6, 0), Networks.LENET.data(6, 1)));
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().microBatch(3).build())) {
            network.fit(batches.get(0));
            network.clear();
            assertThat(SolverAccess.current(network)).isNull();
            DataSetIterator epoch = new ListDataSetIterator<>(batches, 6);
            network.fit(epoch);
            assertThat(SolverAccess.current(network)).isInstanceOf(ControlledStep.class);

            network.clear();
            network.fit(batches.get(0));
            assertThat(SolverAccess.current(network)).isInstanceOf(ControlledStep.class);
            assertThat(memopt.isActive()).isTrue();
        }
        assertThat(SolverAccess.current(network)).isNotInstanceOf(ControlledStep.class);
        network.fit(batches.get(0));
    }

    @Test
    void defaultConfiguration_leavesTheOptimizerAlone() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        ConvexOptimizer before = SolverAccess.current(network);
        try (MemOpt memopt = MemOpt.attach(network)) {
            assertThat(SolverAccess.current(network)).isSameAs(before);
            assertThat(memopt.isActive()).isTrue();
        }
    }

    @Test
    void otherAlgorithms_areRefused() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .optimizationAlgo(OptimizationAlgorithm.LBFGS)
                .list()
                .layer(new OutputLayer.Builder().nIn(3).nOut(2).build())
                .build());
        network.init();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> TrainingSteps.check(network, PARTS))
                .withMessageContaining("LBFGS");
    }

    @Test
    void truncatedBackpropagation_isRefused() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        network.getLayerWiseConfigurations().setBackpropType(BackpropType.TruncatedBPTT);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> TrainingSteps.check(network, PARTS))
                .withMessageContaining("TruncatedBPTT");
    }

    private static TrainingSteps attached(Model model, StepOptions options) {
        TrainingSteps steps = TrainingSteps.begin(Trackers.current());
        steps.attach(model, options);
        return steps;
    }
}
