// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.report.MemorySummary;
import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Networks that train in one process are told apart; of one alone nothing more is said than before. */
class SeveralNetworksTest {
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void summary_ofTwo_hasARowForEach_andSaysWhoseLayersAre() {
        Model vgg = Networks.VGG.create(WorkspaceMode.ENABLED);
        Model graph = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        try (MemOpt first = MemOpt.attach(vgg);
                MemOpt second = MemOpt.attach(graph)) {
            train(vgg, Networks.VGG, 3);
            train(graph, Networks.RESIDUAL_GRAPH, 2);

            MemorySummary summary = first.summary();
            String text = summary.toString();
            assertThat(summary.iterations()).isEqualTo(5);
            assertThat(summary.networks())
                    .extracting(MemorySummary.NetworkRow::network, MemorySummary.NetworkRow::iterations)
                    .containsExactly(tuple(first.name(), 3L), tuple(second.name(), 2L));
            assertThat(summary.networks()).allSatisfy(row -> {
                assertThat(row.stepMillisMedian()).isPositive();
                assertThat(row.usedBytes()).isPositive();
                assertThat(row.allocatedBytes()).isPositive();
            });
            assertThat(text).containsPattern("Networks +iterations +median step");
            assertThat(text).containsPattern(first.name() + " +3 ").containsPattern(second.name() + " +2 ");
            assertThat(text).containsPattern("(?m)^  " + second.name() + " +c\\d ");
            assertThat(text).contains("phase forward of " + first.name());
            JsonArray networks =
                    JsonParser.parseString(summary.toJson()).getAsJsonObject().getAsJsonArray("networks");
            assertThat(networks).hasSize(2);
            assertThat(summary.environment()).containsKeys("model", "model " + second.name());
            assertThat(second.isActive()).isTrue();
        }
    }

    @Test
    void summary_ofOne_hasNoTableOfNetworks() {
        Model vgg = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(vgg)) {
            train(vgg, Networks.VGG, 2);
            String text = memopt.summary().toString();
            assertThat(text).doesNotContain("Networks ").doesNotContain(memopt.name());
            assertThat(text).doesNotContain("extra passes");
        }
    }

    private static void train(Model model, Networks data, int iterations) {
        for (int i = 0; i < iterations; i++) {
            Networks.fit(model, data.data(16, i));
        }
    }
}
