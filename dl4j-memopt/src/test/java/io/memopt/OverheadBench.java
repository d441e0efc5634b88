// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.dataset.DataSet;

/**
 * What recording costs a training step: plain Deeplearning4j, plain again (the noise), attached, attached with a trace
 * file, with last uses in it, with scope check. All in one JVM, in rounds, in an order that rotates with each round; compared are CPU times of the training
 * thread, median of a block against the plain block of the same round. Run by {@code mvn -Pbench}; no assertion on time.
 */
@Tag("bench")
class OverheadBench {
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 21);
    private static final int WARM = 12;
    private static final int TIMED = 15;

    private enum Variant {
        PLAIN,
        PLAIN_AGAIN,
        ATTACHED,
        ATTACHED_TRACE,
        USES_TRACE,
        SCOPE_CHECK
    }

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @CsvSource({"LENET,64", "RESIDUAL_GRAPH,16", "LSTM_TEXT,16", "VGG,16"})
    void step_plainAgainstRecorded(Networks family, int batch) throws IOException {
        Model model = family.create(WorkspaceMode.ENABLED);
        DataSet data = family.data(batch, 1);
        Variant[] variants = Variant.values();
        double[][] millis = new double[variants.length][ROUNDS];
        block(model, data, Variant.PLAIN);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < variants.length; i++) {
                int variant = (round + i) % variants.length;
                millis[variant][round] = block(model, data, variants[variant]);
            }
        }
        double base = quantile(millis[0], 0.5);
        assertThat(base).isPositive();
        print("%s batch %d: plain %.3f ms CPU a step (median of %d rounds)", family, batch, base, ROUNDS);
        for (int variant = 1; variant < variants.length; variant++) {
            double[] deltas = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                deltas[round] = millis[variant][round] - millis[0][round];
            }
            print(
                    "  %-15s %+.3f ms (%+.2f %%), quartiles %+.3f .. %+.3f ms",
                    variants[variant],
                    quantile(deltas, 0.5),
                    100 * quantile(deltas, 0.5) / base,
                    quantile(deltas, 0.25),
                    quantile(deltas, 0.75));
        }
    }

    /** Median CPU milliseconds of a step after workspaces have settled. */
    private double block(Model model, DataSet data, Variant variant) throws IOException {
        Path trace = Files.createTempFile("bench", ".memopt");
        MemOpt memopt = switch (variant) {
            case PLAIN, PLAIN_AGAIN -> null;
            case ATTACHED -> MemOpt.attach(model);
            case ATTACHED_TRACE ->
                MemOpt.attach(model, MemOptConfig.builder().trace(trace).build());
            case USES_TRACE ->
                MemOpt.attach(
                        model,
                        MemOptConfig.builder().trace(trace).recordUses(true).build());
            case SCOPE_CHECK ->
                MemOpt.attach(model, MemOptConfig.builder().scopeCheck(true).build());
        };
        if (memopt == null) {
            MemoryHooks.uninstall();
        }
        assertThat(MemoryHooks.installed()).isEqualTo(memopt != null);
        double[] times = new double[TIMED];
        for (int i = -WARM; i < TIMED; i++) {
            long start = threads.getCurrentThreadCpuTime();
            Networks.fit(model, data);
            if (i >= 0) {
                times[i] = (threads.getCurrentThreadCpuTime() - start) / 1e6;
            }
        }
        if (memopt != null) {
            memopt.close();
        }
        Files.delete(trace);
        return quantile(times, 0.5);
    }

    private static double quantile(double[] values, double share) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
