// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinRun;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

/** Tight budgets change no bit of training with a listener, evaluation in between, and early stopping. */
class BudgetCompanyTest {
    private static final int BATCH = 12;
    private static final int EVALUATED_EVERY = 4;
    private static final int MINIBATCHES = 7;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void listenersAndEvaluation_equalPlain(Networks each) {
        trainBothWays(each, 5);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void listenersAndEvaluation_equalPlain_forHundredIterations(Networks each) {
        trainBothWays(each, 100);
    }

    @Test
    void earlyStopping_equalsPlain() {
        EarlyStoppingResult<MultiLayerNetwork> plain = stopEarly(0);
        EarlyStoppingResult<MultiLayerNetwork> tight =
                stopEarly(leastBudget(Networks.LENET, Networks.LENET.data(2 * BATCH, 0)));

        assertThat(tight.getScoreVsEpoch()).isEqualTo(plain.getScoreVsEpoch());
        assertThat(tight.getBestModel().params()).isEqualTo(plain.getBestModel().params());
    }

    private static void trainBothWays(Networks each, int iterations) {
        DataSet largest = IntStream.range(0, MINIBATCHES)
                .mapToObj(i -> each.data(BATCH, i))
                .max(Comparator.comparingLong(data -> data.getFeatures().length()))
                .orElseThrow();
        long least = leastBudget(each, largest);
        List<Double> scores = new ArrayList<>();
        TwinRun.of(() -> listened(each, scores), (model, i) -> {
                    Networks.fit(model, each.data(BATCH, i % MINIBATCHES));
                    if (i % EVALUATED_EVERY == 0) {
                        evaluate(model, each.data(BATCH / 2, i));
                    }
                })
                .iterations(iterations)
                .compare(model -> {
                    MemOpt memopt = MemOpt.attach(
                            model, MemOptConfig.builder().budget(least + " B").build());
                    memopt.rehearse(largest);
                    return () -> {
                        BudgetReport report = memopt.budget().orElseThrow();
                        assertThat(report.actualPeakBytes().orElseThrow()).isLessThanOrEqualTo(report.limitBytes());
                        memopt.close();
                    };
                })
                .requireBitwise();
        assertThat(scores).hasSize(3 * iterations);
        assertThat(scores.subList(2 * iterations, 3 * iterations)).isEqualTo(scores.subList(0, iterations));
    }

    private static Model listened(Networks each, List<Double> scores) {
        Model model = each.create(WorkspaceMode.ENABLED);
        model.setListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model trained, int iteration, int epoch) {
                scores.add(trained.score());
            }
        });
        return model;
    }

    private static void evaluate(Model model, DataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.evaluate(new ListDataSetIterator<>(List.of(data), BATCH));
        } else {
            ((ComputationGraph) model).evaluate(new ListDataSetIterator<>(List.of(data), BATCH));
        }
    }

    private static long leastBudget(Networks each, DataSet data) {
        Model model = each.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().budget("1 KB").build())) {
            return catchThrowableOfType(BudgetException.class, () -> memopt.rehearse(data))
                    .leastBytes();
        }
    }

    /** Plain with a budget of 0. */
    private static EarlyStoppingResult<MultiLayerNetwork> stopEarly(long budget) {
        MemoryHooks.uninstall();
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config = budget == 0
                ? MemOptConfig.defaults()
                : MemOptConfig.builder().budget(budget + " B").build();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            ListDataSetIterator<DataSet> data = new ListDataSetIterator<>(
                    List.of(Networks.LENET.data(BATCH, 0), Networks.LENET.data(BATCH, 1)), BATCH); // merges both
            EarlyStoppingConfiguration<MultiLayerNetwork> stopping = new EarlyStoppingConfiguration.Builder<
                            MultiLayerNetwork>()
                    .epochTerminationConditions(new MaxEpochsTerminationCondition(2))
                    .scoreCalculator(new DataSetLossCalculator(data, true))
                    .modelSaver(new InMemoryModelSaver<>())
                    .build();
            EarlyStoppingResult<MultiLayerNetwork> result = new EarlyStoppingTrainer(stopping, network, data).fit();
            assertThat(memopt.budget().isPresent()).isEqualTo(budget > 0);
            return result;
        }
    }
}
