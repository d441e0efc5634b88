// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.ReuseMemory.Way;
import io.memopt.ReuseStep.Variant;
import io.memopt.analysis.ReferenceNetworks;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What planned workspaces save and what a step takes with them, as two tables:
 * {@code mvn -Pbench -pl dl4j-memopt -am test -Dtest=PlannedReuseBench -Dsurefire.failIfNoSpecifiedTests=false}. Memory is that
 * of a JVM of its own for each way to train; steps are paired, {@code bench.seconds} (default 100) for each network and at most
 * {@code bench.rounds} (default 11) rounds. {@code bench.networks} and {@code bench.variants} (default all) name some, with
 * commas; {@code bench.memory=false} leaves out the first table. No assertion on time.
 */
@Tag("bench")
class PlannedReuseBench {
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 11);
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("bench.seconds", 100));
    private static final List<ReferenceNetworks> NETWORKS = BenchChoice.of(ReferenceNetworks.class, "bench.networks");
    private static final List<Variant> VARIANTS = BenchChoice.of(Variant.class, "bench.variants");
    private static final boolean MEMORY = Boolean.parseBoolean(System.getProperty("bench.memory", "true"));
    private static final double MB = 1e6;

    @Test
    void tables() throws IOException, InterruptedException {
        if (MEMORY) {
            System.out.print(memoryHead());
            for (ReferenceNetworks network : NETWORKS) {
                System.out.print(memoryOf(network));
            }
        }
        System.out.print(stepHead());
        for (ReferenceNetworks network : NETWORKS) {
            System.out.print(stepOf(network));
        }
    }

    // ---- memory

    private static String memoryHead() {
        return "MB; spilled: bytes beside their workspaces in iteration 1; tensors: reserved peak of all arrays, of them"
                + " params: parameters, gradients, updater state;\nRSS: resident peak of the process, of it alone: JVM with"
                + " heap and libraries before the network is made, rest: temporaries inside native operations and what"
                + " else is not counted\n"
                + String.format(
                        "%-15s %-10s %10s %8s %7s %8s %8s %7s %8s %7s %7s%n",
                        "network",
                        "",
                        "workspaces",
                        "bound",
                        "ratio",
                        "spilled",
                        "tensors",
                        "params",
                        "RSS",
                        "alone",
                        "rest");
    }

    private static String memoryOf(ReferenceNetworks network) throws IOException, InterruptedException {
        ChildJvm.Result plain = ReuseMemory.of(network, Way.PLAIN);
        StringBuilder rows = new StringBuilder();
        long bound = 0;
        for (Way way : new Way[] {Way.PLANNED, Way.REHEARSED, Way.PROFILED}) {
            ChildJvm.Result planned = ReuseMemory.of(network, way);
            bound = planned.number("bound");
            assertThat(planned.text("state")).isEqualTo("TRUSTED");
            assertThat(planned.number("parameterHash")).isEqualTo(plain.number("parameterHash"));
            rows.append(row(network, way, planned, bound));
        }
        return row(network, Way.PLAIN, plain, bound) + rows;
    }

    private static String row(ReferenceNetworks network, Way way, ChildJvm.Result run, long bound) {
        long tensors = run.number("tensorPeak");
        long resident = run.number("residentPeak");
        long alone = run.number("processAlone");
        return String.format(
                Locale.ROOT,
                "%-15s %-10s %10.2f %8.2f %7.4f %8.2f %8.1f %7.1f %8.1f %7.1f %7.1f%n",
                network + " b" + run.number("batch"),
                way,
                run.number("workspaces") / MB,
                bound / MB,
                1.0 * run.number("workspaces") / bound,
                run.number("spilledFirst") / MB,
                tensors / MB,
                run.number("network") / MB,
                resident / MB,
                alone / MB,
                (resident - alone - tensors) / MB);
    }

    // ---- time

    private static String stepHead() {
        return "CPU of a step; differences from plain in the same round: median (quartiles), in percent of plain\n"
                + String.format(
                        "%-15s %7s %6s %9s %s%n",
                        "network", "arrays", "rounds", "plain ms", "plain again, observed, ...");
    }

    private static String stepOf(ReferenceNetworks network) {
        ReuseStep steps = ReuseStep.measure(network, VARIANTS, TIME, ROUNDS);
        StringBuilder row = new StringBuilder(String.format(
                Locale.ROOT, "%-15s %7d %6d %9.2f", network, steps.arrays(), steps.rounds(), steps.plainMillis()));
        for (Variant variant : VARIANTS) {
            if (variant != Variant.PLAIN) {
                row.append(String.format(
                        Locale.ROOT,
                        "  %s %+.2f (%+.2f .. %+.2f)",
                        variant,
                        percent(steps, variant, 0.5),
                        percent(steps, variant, 0.25),
                        percent(steps, variant, 0.75)));
            }
        }
        return row.append('\n').toString();
    }

    private static double percent(ReuseStep steps, Variant variant, double share) {
        return 100 * steps.delta(variant, share) / steps.plainMillis();
    }
}
