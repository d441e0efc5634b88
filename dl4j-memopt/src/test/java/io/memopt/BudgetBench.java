// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.analysis.Exactness;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetException;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.verify.Attachment;
import io.memopt.verify.RunCost;
import io.memopt.verify.Verification;
import io.memopt.verify.VerifyRun;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

/**
 * What each strategy, and the choice for a budget, take in memory and time, as one table for each network:
 * {@code mvn -Pbench -pl dl4j-memopt -am test -Dtest=BudgetBench -Dsurefire.failIfNoSpecifiedTests=false}. Every row trains plain,
 * plain again and in its own way from one state ({@link VerifyRun}), {@code bench.iterations} (default 10) each. How well the time of a
 * budget's choice was predicted is told by as many steps again, each beside one of plain training ({@link StepPairs}), so that a machine
 * that has become slower since the decision is seen as such. {@code bench.networks} (default all) names some, with commas; {@code
 * bench.budgets} (default 75,60,45,30) are percent of the plain peak. No assertion on time.
 */
@Tag("bench")
class BudgetBench {
    private static final int ITERATIONS = Integer.getInteger("bench.iterations", 10);
    private static final double MB = 1e6;

    private static final List<ReferenceNetworks> NETWORKS = Arrays.stream(
                    System.getProperty("bench.networks", "LENET,RESIDUAL_GRAPH,LSTM_STACK,VGG_LIKE,RESNET50")
                            .split(",", -1))
            .map(ReferenceNetworks::valueOf)
            .toList();

    private static final int[] BUDGETS = Arrays.stream(
                    System.getProperty("bench.budgets", "75,60,45,30").split(",", -1))
            .mapToInt(Integer::parseInt)
            .toArray();

    @Test
    void tables() {
        for (ReferenceNetworks network : NETWORKS) {
            DataSet data = network.data(0);
            System.out.printf(
                    "%n%s, batch %d, features %s%n",
                    network,
                    data.getFeatures().size(0),
                    Arrays.toString(data.getFeatures().shape()));
            System.out.printf(
                    "%-34s %9s %9s %9s %9s  %s%n", "", "peak MB", "of plain", "step ms", "of plain", "results");
            long plain = 0;
            for (Map.Entry<String, MemOptConfig> way : ways(network).entrySet()) {
                plain = row(network, data, way.getKey(), way.getValue());
            }
            for (int percent : BUDGETS) {
                budget(network, data, percent, plain * percent / 100, Exactness.BITWISE);
            }
            for (int percent : BUDGETS) {
                budget(network, data, percent, plain * percent / 100, Exactness.REORDERED);
            }
        }
    }

    private static Map<String, MemOptConfig> ways(ReferenceNetworks network) {
        Map<String, MemOptConfig> ways = new LinkedHashMap<>();
        ways.put("observed", MemOptConfig.defaults());
        for (Reuse reuse : new Reuse[] {Reuse.RELEASED, Reuse.SIZED, Reuse.PLANNED}) {
            ways.put(
                    reuse.name().toLowerCase(Locale.ROOT),
                    MemOptConfig.builder().reuse(reuse).build());
        }
        if (network.create() instanceof MultiLayerNetwork) {
            ways.put("checkpointed", MemOptConfig.builder().activationShare(0).build());
            ways.put(
                    "checkpointed, planned",
                    MemOptConfig.builder()
                            .activationShare(0)
                            .reuse(Reuse.PLANNED)
                            .build());
        }
        return ways;
    }

    /** Returns the plain peak. */
    private static long row(ReferenceNetworks network, DataSet data, String name, MemOptConfig config) {
        Verification result = verify(network, data, model -> {
            MemOpt memopt = MemOpt.attach(model, config);
            if (config.reuse() == Reuse.SIZED || config.reuse() == Reuse.PLANNED) {
                memopt.rehearse(data);
            }
            return memopt;
        });
        if (name.equals("observed")) {
            print("plain", result.bare(), result, "again: " + result.twin().plain());
        }
        print(name, result.optimised(), result, result.twin().attached().toString());
        return result.plain().peakBytes();
    }

    private static void budget(ReferenceNetworks network, DataSet data, int percent, long limit, Exactness loosest) {
        String name = "budget " + percent + " %, " + loosest.name().toLowerCase(Locale.ROOT);
        MemOptConfig config =
                MemOptConfig.builder().budget(limit + " B").exactness(loosest).build();
        AtomicReference<BudgetReport> report = new AtomicReference<>();
        try {
            Verification result = verify(network, data, model -> {
                MemOpt memopt = MemOpt.attach(model, config);
                memopt.rehearse(data);
                return () -> {
                    report.set(memopt.budget().orElseThrow());
                    memopt.close();
                };
            });
            print(name, result.optimised(), result, result.twin().attached() + "; " + text(report.get(), result));
            System.out.println(times(network, data, config));
        } catch (IllegalStateException e) {
            if (!(e.getCause() instanceof BudgetException refusal)) {
                throw e;
            }
            System.out.printf(
                    Locale.ROOT, "%-34s refused, least %.1f MB of %.1f%n", name, refusal.leastBytes() / MB, limit / MB);
        }
    }

    private static String text(BudgetReport report, Verification result) {
        return String.format(
                Locale.ROOT,
                "%s; predicted %.1f MB (actual %+.1f %%), decided in %.1f s",
                report.chosen().strategy(),
                report.chosen().peakBytes() / MB,
                100.0 * result.optimised().peakBytes() / report.chosen().peakBytes() - 100,
                report.decidingMillis() / 1000);
    }

    /** Decides once more, with steps of plain training before, and beside those that come after. */
    private static String times(ReferenceNetworks network, DataSet data, MemOptConfig config) {
        try (StepPairs pairs = new StepPairs(network, data)) {
            StepPairs.Quartiles before = pairs.plain(ITERATIONS / 2);
            Model model = network.create();
            try (MemOpt memopt = MemOpt.attach(model, config)) {
                memopt.rehearse(data);
                double predicted = memopt.budget().orElseThrow().chosen().stepMillis();
                StepPairs.Pair steps = pairs.beside(model, ITERATIONS);
                double off = steps.own().median() / predicted;
                double slower = steps.plain().median() / before.median();
                return String.format(
                        Locale.ROOT,
                        "  step ms: predicted %.1f, actual %s (%+.1f %%); plain %s before, %s beside (%+.1f %%); so %+.1f %% off",
                        predicted,
                        steps.own(),
                        100 * off - 100,
                        before,
                        steps.plain(),
                        100 * slower - 100,
                        100 * off / slower - 100);
            }
        }
    }

    private static Verification verify(ReferenceNetworks network, DataSet data, Attachment attachment) {
        return VerifyRun.of(network::create, i -> data).iterations(ITERATIONS).compare(attachment);
    }

    private static void print(String name, RunCost cost, Verification result, String more) {
        boolean recorded = cost.peakBytes() > 0;
        System.out.printf(
                Locale.ROOT,
                "%-34s %9.1f %8.1f%% %9.1f %8.1f%%  %s%n",
                name,
                (recorded ? cost : result.plain()).peakBytes() / MB,
                recorded ? 100.0 * cost.peakBytes() / result.plain().peakBytes() : 100,
                cost.stepMillis(),
                100 * cost.stepMillis() / result.plain().stepMillis(),
                more);
    }
}
