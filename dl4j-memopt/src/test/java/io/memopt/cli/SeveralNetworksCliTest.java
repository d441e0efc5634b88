// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables of a trace in which several networks trained tell them apart; those of one network have no such column. */
class SeveralNetworksCliTest {
    @TempDir
    Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void commandLine_ofATraceOfTwo_hasAColumnOfNetworks() {
        Path both = folder.resolve("both.memopt");
        Path one = folder.resolve("one.memopt");
        Model vgg = Networks.VGG.create(WorkspaceMode.ENABLED);
        Model graph = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        try (MemOpt first = MemOpt.attach(vgg, MemOptConfig.builder().trace(one).build())) {
            train(vgg, Networks.VGG, 2);
            assertThat(first.isActive()).isTrue();
        }
        try (MemOpt first =
                        MemOpt.attach(vgg, MemOptConfig.builder().trace(both).build());
                MemOpt second = MemOpt.attach(graph)) {
            train(vgg, Networks.VGG, 2);
            train(graph, Networks.RESIDUAL_GRAPH, 2);
            assertThat(first.isActive() && second.isActive()).isTrue();
        }

        assertThat(run("summary", both.toString()))
                .contains("Iterations by network")
                .containsPattern("space +network +layer")
                .containsPattern("2 .*ComputationGraph-1");
        assertThat(run("summary", one.toString())).doesNotContain("network ").doesNotContain("by network");
        assertThat(run("diff", one.toString(), both.toString())).containsPattern("network +layer +phase");
    }

    private static String run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertThat(Main.run(new PrintWriter(out, true), new PrintWriter(err, true), arguments))
                .as("%s", err)
                .isZero();
        return out.toString();
    }

    private static void train(Model model, Networks data, int iterations) {
        for (int i = 0; i < iterations; i++) {
            Networks.fit(model, data.data(16, i));
        }
    }
}
