// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.use.ArrayLifetime;
import io.memopt.allocator.use.UseWindow;
import io.memopt.analysis.replay.Allocators;
import io.memopt.analysis.replay.ReplayRow;
import io.memopt.analysis.replay.TraceReplay;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What real trainings reserve and what their arrays need. */
class TrainingLivenessTest {
    private static final double MIB = 1 << 20;

    @TempDir
    Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void leNet_needsLittleMoreThanHalfOfItsBlocks() throws IOException {
        LivenessRow row = train(ReferenceNetworks.LENET, 4);

        assertThat(row.blockBytes() / MIB).isCloseTo(34.94, Percentage.withPercentage(1));
        assertThat(row.lowerBoundBytes() / MIB).isCloseTo(19.34, Percentage.withPercentage(1));
        assertThat(row.unknownArrays()).isZero();
        assertThat(row.exact()).isTrue();

        try (TraceReader trace = new TraceReader(folder.resolve(ReferenceNetworks.LENET + ".memopt"))) {
            List<ReplayRow> rows = TraceReplay.replay(
                    trace, List.of(Allocators.RECORDED, Allocators.PLANNED), MemorySpace.HOST, events -> {});
            long saved = rows.get(0).peakReservedBytes() - rows.get(1).peakReservedBytes();
            assertThat(saved / MIB).isCloseTo(34.94 - 19.34, Percentage.withPercentage(1));
            assertThat(rows.get(1).remark()).endsWith("lives to the last use");
        }
    }

    /** Blocks and bound in MiB. */
    @Tag("soak")
    @ParameterizedTest
    @CsvSource({
        "LENET, 34.94, 19.34",
        "RESIDUAL_GRAPH, 9.73, 5.00",
        "LSTM_STACK, 10.26, 7.61",
        "VGG_LIKE, 180.88, 84.03",
        "RESNET50, 62.36, 27.38"
    })
    void bound_isWithinThreePercentOfThePackedArena(ReferenceNetworks network, double blocks, double needed)
            throws IOException {
        LivenessRow row = train(network, 8);

        System.out.printf(
                Locale.ROOT,
                "%s: blocks %.2f MiB, arrays %.2f, needed %.2f, ratio %.2f, %d arrays, never seen in use %d (%d B)%n",
                network,
                row.blockBytes() / MIB,
                row.arrayBytes() / MIB,
                row.lowerBoundBytes() / MIB,
                row.ratio(),
                row.arrays(),
                row.unseenArrays(),
                row.unseenBytes());
        assertThat(row.blockBytes() / MIB).isCloseTo(blocks, Percentage.withPercentage(3));
        assertThat(row.lowerBoundBytes() / MIB).isCloseTo(needed, Percentage.withPercentage(3));
    }

    @Test
    void window_ofOneIteration_boundsAsTheTraceDoes() throws IOException {
        Path trace = folder.resolve("t.memopt");
        Model model = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        List<ArrayLifetime> lives;
        try (MemOpt memopt = MemOpt.attach(model, config(trace))) {
            for (int i = 0; i < 8; i++) {
                Networks.fit(model, Networks.RESIDUAL_GRAPH.data(8, i));
            }
            UseWindow window =
                    Objects.requireNonNull(MemoryHooks.recording().uses()).openWindow();
            Networks.fit(model, Networks.RESIDUAL_GRAPH.data(8, 8));
            lives = window.close();
        }
        LivenessRow row = TraceAnalyzer.analyze(trace).liveness().get(0);

        assertThat(lives).extracting(ArrayLifetime::sequence).isSorted();
        assertThat(lives).extracting(ArrayLifetime::workspace).contains("WS_ALL_LAYERS_ACT", "WS_LAYER_WORKING_MEM");
        assertThat(lives).noneMatch(ArrayLifetime::spilled).noneMatch(life -> life.end() == lives.size());
        assertThat(peak(lives, true)).isEqualTo(row.lowerBoundBytes());
        assertThat(peak(lives, false)).isEqualTo(row.arrayBytes());
    }

    private static long peak(List<ArrayLifetime> lives, boolean toLastUse) {
        long most = 0;
        for (int i = 0; i < lives.size(); i++) {
            int at = i;
            most = Math.max(
                    most,
                    lives.stream()
                            .filter(life -> life.sequence() <= at && (toLastUse ? life.lastUse() : life.end()) >= at)
                            .mapToLong(ArrayLifetime::roundedBytes)
                            .sum());
        }
        return most;
    }

    private LivenessRow train(ReferenceNetworks network, int iterations) throws IOException {
        Path trace = folder.resolve(network + ".memopt");
        Model model = network.create();
        try (MemOpt memopt = MemOpt.attach(model, config(trace))) {
            for (int i = 0; i < iterations; i++) {
                Networks.fit(model, network.data(i));
            }
        }
        List<LivenessRow> rows = TraceAnalyzer.analyze(trace).liveness();
        assertThat(rows).isNotEmpty();
        return rows.get(0);
    }

    private static MemOptConfig config(Path trace) {
        return MemOptConfig.builder().trace(trace).recordUses(true).build();
    }
}
