// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;

/**
 * What a step takes with planned workspaces, in paired rounds: each round trains a block of steps in every variant, in turning
 * order. CPU time of the training thread. As many rounds as fit the time, at least {@value #LEAST_ROUNDS}.
 */
final class ReuseStep {
    static final int LEAST_ROUNDS = 3;
    private static final int WARM = 4;
    private static final int TIMED = 5;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    enum Variant {
        PLAIN,
        PLAIN_AGAIN,
        OBSERVED,
        PLANNED,
        POISONED
    }

    private final Model model;
    private final DataSet data;
    private final List<Variant> variants;
    private final List<double[]> rounds = new ArrayList<>();
    private int arrays;

    private ReuseStep(ReferenceNetworks network, List<Variant> variants) {
        this.variants = variants;
        this.model = network.create();
        this.data = network.data(1);
    }

    /** Measures {@code variants}, of which {@link Variant#PLAIN} is one. */
    static ReuseStep measure(ReferenceNetworks network, List<Variant> variants, Duration time, int mostRounds) {
        ReuseStep steps = new ReuseStep(network, variants);
        long end = System.nanoTime() + time.toNanos();
        steps.block(Variant.PLAIN);
        while (steps.rounds() < mostRounds && (steps.rounds() < LEAST_ROUNDS || System.nanoTime() < end)) {
            steps.round();
        }
        return steps;
    }

    private void round() {
        double[] millis = new double[Variant.values().length];
        for (int i = 0; i < variants.size(); i++) {
            Variant variant = variants.get((rounds.size() + i) % variants.size());
            millis[variant.ordinal()] = block(variant);
        }
        rounds.add(millis);
    }

    int rounds() {
        return rounds.size();
    }

    /** Median of the plain steps, in CPU milliseconds. */
    double plainMillis() {
        return quantile(column(Variant.PLAIN), 0.5);
    }

    /** Quantile of the differences from plain in the same round, in CPU milliseconds. */
    double delta(Variant variant, double share) {
        return quantile(
                rounds.stream()
                        .mapToDouble(round -> round[variant.ordinal()] - round[Variant.PLAIN.ordinal()])
                        .toArray(),
                share);
    }

    /** Arrays of the planned pass. */
    int arrays() {
        return arrays;
    }

    private double[] column(Variant variant) {
        return rounds.stream().mapToDouble(round -> round[variant.ordinal()]).toArray();
    }

    /** Median CPU milliseconds of a step after workspaces and plans have settled. */
    private double block(Variant variant) {
        MemOpt memopt = attach(variant);
        assertThat(MemoryHooks.installed()).isEqualTo(memopt != null);
        double[] times = new double[TIMED];
        for (int i = -WARM; i < TIMED; i++) {
            long start = THREADS.getCurrentThreadCpuTime();
            Networks.fit(model, data);
            if (i >= 0) {
                times[i] = (THREADS.getCurrentThreadCpuTime() - start) / 1e6;
            }
        }
        if (memopt != null) {
            assertThat(memopt.plans()).allMatch(plan -> plan.served() > 0);
            arrays = memopt.plans().stream().mapToInt(PlanRow::arrays).max().orElse(arrays);
            memopt.close();
        }
        return quantile(times, 0.5);
    }

    private @Nullable MemOpt attach(Variant variant) {
        return switch (variant) {
            case PLAIN, PLAIN_AGAIN -> {
                MemoryHooks.uninstall();
                yield null;
            }
            case OBSERVED -> MemOpt.attach(model);
            case PLANNED ->
                MemOpt.attach(model, MemOptConfig.builder().reuse(Reuse.PLANNED).build());
            case POISONED ->
                MemOpt.attach(
                        model,
                        MemOptConfig.builder()
                                .reuse(Reuse.PLANNED)
                                .planPoison(true)
                                .build());
        };
    }

    private static double quantile(double[] values, double share) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    }
}
