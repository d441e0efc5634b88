// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import static io.memopt.testing.Bits.bits;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.offload.SimulatedLanes.Pace;
import io.memopt.strategy.precision.Precision;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Updater state on the host of a simulated device beside another setting: the same bits as with that setting alone. */
class HostStateCompanyTest {
    private static final int BATCH = 6;
    /** Half precision is computed slowly without a device. */
    private static final int SMALL_BATCH = 2;

    private static final int ITERATIONS = 4;
    /** The scale of the loss begins too high, and updates are left out meanwhile. */
    private static final int UNTIL_SCALED = 12;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    private enum Company {
        PARTS(BATCH, ITERATIONS, Networks.LENET, Networks.LSTM_TEXT) {
            @Override
            MemOptConfig.Builder config() {
                return MemOptConfig.builder().microBatch(4);
            }
        },
        GATHERED_PARTS(BATCH, 2 * ITERATIONS, Networks.LENET, Networks.LSTM_TEXT) {
            @Override
            MemOptConfig.Builder config() {
                return MemOptConfig.builder().microBatch(4).accumulate(2);
            }
        },
        MIXED_PRECISION(SMALL_BATCH, UNTIL_SCALED, Networks.LSTM_TEXT, Networks.RESIDUAL_GRAPH) {
            @Override
            MemOptConfig.Builder config() {
                return MemOptConfig.builder().precision(Precision.MIXED_HALF);
            }
        },
        OWN_VIEWS(BATCH, ITERATIONS, Networks.LENET, Networks.RESIDUAL_GRAPH) {
            @Override
            MemOptConfig.Builder config() {
                return MemOptConfig.builder().ownViews(true);
            }
        };

        private final int batch;
        private final int iterations;
        private final Networks one;
        private final Networks other;

        Company(int batch, int iterations, Networks one, Networks other) {
            this.batch = batch;
            this.iterations = iterations;
            this.one = one;
            this.other = other;
        }

        abstract MemOptConfig.Builder config();
    }

    static Stream<Arguments> companies() {
        return Arrays.stream(Company.values())
                .flatMap(company ->
                        Stream.of(company.one, company.other).map(network -> Arguments.of(company, network)));
    }

    @ParameterizedTest
    @MethodSource("companies")
    void stateOnTheHost_changesNoBitOfTheOtherSetting(Company company, Networks network) {
        List<Object> alone = train(company, network, company.config().build());
        try (SimulatedLanes.Installed device = SimulatedLanes.install(Pace.LATEST)) {
            List<Object> offloaded = train(
                    company,
                    network,
                    company.config().offloadUpdaterState(Offload.HOST).build());

            assertThat(offloaded).usingRecursiveComparison().isEqualTo(alone);
            assertThat(device.lanes().figures().toHostCopies()).isPositive();
            assertThat(device.lanes().underWay()).isZero();
        }
    }

    /** Scores of all iterations, then bits of parameters and of the updater's state, which changed all of them. */
    private static List<Object> train(Company company, Networks network, MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Nd4j.getRandom().setSeed(5);
        Model model = network.create(WorkspaceMode.ENABLED);
        int[] before = bits(model.params());
        List<Object> results = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < company.iterations; i++) {
                Networks.fit(model, network.data(company.batch, i));
                results.add(model.score());
            }
            assertThat(memopt.isActive()).isTrue();
            results.add(bits(state(model)));
        }
        results.add(bits(state(model)));
        results.add(bits(model.params()));
        assertThat(bits(model.params())).isNotEqualTo(before);
        assertThat(state(model).amaxNumber().doubleValue()).isPositive();
        return results;
    }

    private static INDArray state(Model model) {
        return model instanceof ComputationGraph graph
                ? graph.getUpdater().getStateViewArray()
                : ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
    }
}
