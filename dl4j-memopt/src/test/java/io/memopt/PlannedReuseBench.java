// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

/**
 * What planned workspaces save and what a step takes with them. Run by {@code mvn -Pbench}; {@code bench.rounds} rounds
 * (default 11) of the second part. Memory is that of a JVM of its own for each way; no assertion on time.
 */
@Tag("bench")
class PlannedReuseBench {
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 11);
    private static final int WARM = 6;
    private static final int TIMED = 8;
    /** DL4J's workspaces have their sizes by then, and plans are proved. */
    private static final int SETTLED = 8;

    private static final int MEASURED = 6;
    private static final double MB = 1e6;
    /** All of it resident from the start, so that differences in resident size are native. */
    private static final String[] HEAP = {"-Xms384m", "-Xmx384m", "-XX:+AlwaysPreTouch"};

    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    /** How a child trains. */
    private enum Way {
        /** ND4J's own workspaces, observed. */
        PLAIN,
        PLANNED,
        /** Planned, with plans from three examples before the first minibatch. */
        REHEARSED
    }

    // ---- memory

    @ParameterizedTest
    @EnumSource(ReferenceNetworks.class)
    void memory_plainAgainstPlanned(ReferenceNetworks network) throws IOException, InterruptedException {
        ChildJvm.Result plain = child(network, Way.PLAIN);
        for (Way way : new Way[] {Way.PLANNED, Way.REHEARSED}) {
            ChildJvm.Result planned = child(network, way);
            long bound = planned.number("bound");
            assertThat(planned.text("state")).isEqualTo("TRUSTED");
            assertThat(planned.number("parameterHash")).isEqualTo(plain.number("parameterHash"));
            print(
                    "%s, batch %d, %s: workspaces reserve %.2f MB plain, %.2f MB planned (%.2fx); arena %.2f MB,"
                            + " lower bound %.2f MB, ratio %.4f",
                    network,
                    plain.number("batch"),
                    way,
                    plain.number("workspaces") / MB,
                    planned.number("workspaces") / MB,
                    1.0 * plain.number("workspaces") / planned.number("workspaces"),
                    planned.number("arena") / MB,
                    bound / MB,
                    1.0 * planned.number("arena") / bound);
            both("  reserved peak of the run, all tensors", "reservedPeak", plain, planned);
            both("  resident peak of the process", "residentPeak", plain, planned);
            both("  the same after warm-up", "residentPeakSettled", plain, planned);
            both("  of it parameters, gradients, updater state", "network", plain, planned);
            both("  of it Java heap", "heap", plain, planned);
        }
    }

    private static ChildJvm.Result child(ReferenceNetworks network, Way way) throws IOException, InterruptedException {
        return ChildJvm.of(Child.class, network.name(), way.name())
                .options(HEAP)
                .options("-Dorg.bytedeco.javacpp.maxbytes=8g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=16g")
                .run()
                .ok();
    }

    private static void both(String what, String key, ChildJvm.Result plain, ChildJvm.Result planned) {
        print("%s: %.2f MB plain, %.2f MB planned", what, plain.number(key) / MB, planned.number(key) / MB);
    }

    /** One training in a process of its own. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) throws IOException {
            ReferenceNetworks network = ReferenceNetworks.valueOf(arguments[0]);
            Way way = Way.valueOf(arguments[1]);
            Model model = network.create();
            model.params().assign(0.01);
            MemOpt memopt = MemOpt.attach(model, way == Way.PLAIN ? MemOptConfig.defaults() : PLANNED);
            if (way == Way.REHEARSED) {
                memopt.rehearse(network.data(0));
            }
            train(model, network, 0, SETTLED);
            long early = residentPeak();
            Files.writeString(Path.of("/proc/self/clear_refs"), "5"); // resets VmHWM
            train(model, network, SETTLED, SETTLED + MEASURED);
            say("residentPeak", Math.max(early, residentPeak()));
            tell(model, network, memopt);
            memopt.close();
        }

        private static void train(Model model, ReferenceNetworks network, int from, int to) {
            for (int i = from; i < to; i++) {
                Networks.fit(model, network.data(i));
            }
        }

        private static void tell(Model model, ReferenceNetworks network, MemOpt memopt) {
            MemoryLedger ledger = MemoryHooks.recording().ledger();
            say("batch", network.data(0).numExamples());
            say("workspaces", ledger.reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST));
            say("reservedPeak", ledger.reservedPeak().bytes());
            say("residentPeakSettled", residentPeak());
            say("network", 4 * (2 * model.numParams() + updaterState(model)));
            say("heap", Runtime.getRuntime().totalMemory());
            say("parameterHash", Arrays.hashCode(model.params().dup().data().asFloat()));
            memopt.plans().stream()
                    .filter(plan -> plan.served() > 0)
                    .findFirst()
                    .ifPresent(Child::tell);
        }

        private static void tell(PlanRow plan) {
            System.out.println("state=" + plan.state());
            say("arena", plan.arenaBytes());
            say("bound", plan.lowerBoundBytes());
            say("scopes", plan.scopeBytes());
        }

        private static void say(String key, long value) {
            System.out.println(key + "=" + value);
        }

        private static long updaterState(Model model) {
            return model instanceof MultiLayerNetwork network
                    ? network.getUpdater().getStateViewArray().length()
                    : ((ComputationGraph) model)
                            .getUpdater()
                            .getStateViewArray()
                            .length();
        }

        private static long residentPeak() {
            try {
                return Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(line -> line.startsWith("VmHWM:"))
                        .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                        .findFirst()
                        .orElse(0);
            } catch (IOException e) {
                throw new IllegalStateException("resident size cannot be read", e);
            }
        }
    }

    // ---- time

    private enum Variant {
        PLAIN,
        PLAIN_AGAIN,
        OBSERVED,
        PLANNED
    }

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @EnumSource(ReferenceNetworks.class)
    void step_plainAgainstPlanned(ReferenceNetworks network) {
        Model model = network.create();
        DataSet data = network.data(1);
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
        print("%s: plain %.3f ms CPU a step (median of %d rounds)", network, base, ROUNDS);
        for (int variant = 1; variant < variants.length; variant++) {
            double[] deltas = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                deltas[round] = millis[variant][round] - millis[0][round];
            }
            print(
                    "  %-12s %+.3f ms (%+.2f %%), quartiles %+.3f .. %+.3f ms",
                    variants[variant],
                    quantile(deltas, 0.5),
                    100 * quantile(deltas, 0.5) / base,
                    quantile(deltas, 0.25),
                    quantile(deltas, 0.75));
        }
    }

    /** Median CPU milliseconds of a step after workspaces and plans have settled. */
    private double block(Model model, DataSet data, Variant variant) {
        MemOpt memopt = attach(model, variant);
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
            assertThat(memopt.plans()).allMatch(plan -> plan.served() > 0);
            memopt.close();
        }
        return quantile(times, 0.5);
    }

    private static @Nullable MemOpt attach(Model model, Variant variant) {
        return switch (variant) {
            case PLAIN, PLAIN_AGAIN -> {
                MemoryHooks.uninstall();
                yield null;
            }
            case OBSERVED -> MemOpt.attach(model);
            case PLANNED -> MemOpt.attach(model, PLANNED);
        };
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
