// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** What batch normalisation leaves behind in evaluation is no result of {@code output()}, and is not called one. */
class ResiduesTest {
    private static final int BATCH = 64;

    @TempDir
    Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void evaluation_ofNormalisedNetwork_isNotBlamedOnOutput() throws IOException {
        TraceAnalysis analysis = record(network -> {
            network.fit(data());
            for (int i = 0; i < 4; i++) {
                network.evaluate(new ExistingDataSetIterator(List.of(data())));
            }
            network.fit(data());
        });

        assertThat(analysis.suspects()).anyMatch(row -> row.site().startsWith("BatchNormalization.preOutput"));
        assertThat(analysis.advice()).noneMatch(row -> row.kind() == Advice.Kind.OUTPUT_IN_WORKSPACE);
        assertThat(analysis.advice()).anyMatch(row -> row.kind() == Advice.Kind.CLOSE_DETACHED);
    }

    @Test
    void results_besideResidues_areToldWithTheirOwnBytes() throws IOException {
        List<INDArray> kept = new ArrayList<>();
        TraceAnalysis analysis = record(network -> {
            network.fit(data());
            for (int i = 0; i < 20; i++) {
                kept.add(network.output(data().getFeatures()));
            }
        });

        Advice advice = analysis.advice().stream()
                .filter(row -> row.kind() == Advice.Kind.OUTPUT_IN_WORKSPACE)
                .findFirst()
                .orElseThrow();
        long each = kept.get(0).length() * 4;
        assertThat(advice.savedAtEnd()).isBetween(15 * each, 25 * each);
    }

    private interface Work {
        void run(MultiLayerNetwork network) throws IOException;
    }

    private TraceAnalysis record(Work work) throws IOException {
        Path trace = folder.resolve("run.memopt");
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().trace(trace).build())) {
            work.run(network);
            assertThat(memopt.isActive()).isTrue();
        }
        return TraceAnalyzer.analyze(trace, TraceReader.OnCorruption.FAIL, AnalysisOptions.DEFAULTS);
    }

    private static DataSet data() {
        return Networks.VGG.data(BATCH, 0);
    }
}
