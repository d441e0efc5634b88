// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What planning costs and how good it is:
 * {@code mvn test -Pbench -pl nd4j-allocator -Dtest=PlanBench -Dsurefire.failIfNoSpecifiedTests=false}. CPU times are of the
 * whole JVM, i.e. with compilation and garbage collection; "cold" is the first run of a problem in the order shown, and so is the wall time;
 * "warm" is the least of five more. No assertion on time.
 */
@Tag("bench")
class PlanBench {
    private static final int REPEATS = 5;
    private static final int SEEDS = 500;
    private static final int WARM_UP = 100;
    private static final int KIN_SEEDS = 5;

    @Test
    void miniMalloc_challenges() {
        print(
                "%-12s %7s %9s %9s %9s %9s %10s %10s",
                "instance", "buffers", "wall s", "cold s", "warm s", "nodes", "height", "bound");
        for (String name : new String[] {"A", "C", "E", "G", "I", "K"}) {
            row(
                    name,
                    Instances.miniMalloc(name),
                    PlanOptions.within(Duration.ofMinutes(5)).withCapacity(Instances.CAPACITY));
        }
        for (String name : new String[] {"A", "C", "E", "G", "I", "K"}) {
            row(name + " min", Instances.miniMalloc(name), PlanOptions.within(Duration.ofMinutes(5)));
        }
    }

    /** Problems of the same kind, see {@link Kin}, with 10 s of CPU for each. */
    @Test
    void miniMalloc_kin() {
        PlanOptions options = PlanOptions.within(Duration.ofSeconds(10));
        for (String name : new String[] {"A", "C", "E", "G", "I", "K"}) {
            PlanProblem base = Instances.miniMalloc(name);
            long[] offsets = MemoryPlanner.plan(base, options.withCapacity(Instances.CAPACITY))
                    .offsets();
            for (Kin.Change change : Kin.Change.values()) {
                double[] seconds = new double[KIN_SEEDS];
                int solved = 0;
                for (int seed = 0; seed < KIN_SEEDS; seed++) {
                    Kin.Known kin = Kin.of(base, offsets, Instances.CAPACITY, change, seed);
                    long start = cpuNanos();
                    MemoryPlan plan =
                            MemoryPlanner.plan(kin.problem(), options.withCapacity(kin.height()), PlanBench::cpuNanos);
                    seconds[seed] = (cpuNanos() - start) / 1e9;
                    solved += plan.height() <= kin.height() ? 1 : 0;
                }
                Arrays.sort(seconds);
                print(
                        "%s %-6s %d of %d solved, median %.3f s of CPU, worst %.3f",
                        name, change, solved, KIN_SEEDS, seconds[KIN_SEEDS / 2], seconds[KIN_SEEDS - 1]);
            }
        }
    }

    @Test
    void recorded_trainings() {
        for (String name : new String[] {"lenet", "vgg", "residual_graph"}) {
            row(name, Instances.recorded(name), PlanOptions.within(Duration.ofSeconds(5)));
        }
    }

    @Test
    void generated_ofTwoThousand_inFiftyMilliseconds() {
        family("training 2k", seed -> RandomProblem.training(2000, seed));
        family("short 2k", seed -> RandomProblem.shortLives(2000, seed));
        family("uniform 2k", seed -> RandomProblem.uniform(2000, seed));
    }

    /** By the CPU clock of the threads that plan, which a busy machine does not stretch; greedy methods only. */
    @Test
    void generated_ofTwoThousand_inFiftyMillisecondsOfCpu() {
        ofCpu("short", seed -> RandomProblem.shortLives(2000, seed));
        ofCpu("uniform", seed -> RandomProblem.uniform(2000, seed));
        ofCpu("training", seed -> RandomProblem.training(2000, seed));
    }

    private static void ofCpu(String name, LongFunction<PlanProblem> kind) {
        PlanOptions options = new PlanOptions(OptionalLong.empty(), Duration.ofMillis(50), false);
        double[] ratios = new double[SEEDS];
        double[] millis = new double[SEEDS];
        for (long seed = -WARM_UP; seed < SEEDS; seed++) {
            Certificate certificate = MemoryPlanner.plan(kind.apply(seed), options, new CpuClock())
                    .certificate();
            if (seed >= 0) {
                ratios[(int) seed] = (double) certificate.height() / certificate.lowerBound();
                millis[(int) seed] = certificate.time().toNanos() / 1e6;
            }
        }
        Arrays.sort(ratios);
        Arrays.sort(millis);
        print(
                "%-8s 2k, 50 ms of CPU, height / bound of %d seeds: median %.5f, 99 of 100 up to %.5f, worst %.5f, above 1.003:"
                        + " %d; ms median %.1f, 99 of 100 up to %.1f",
                name,
                SEEDS,
                ratios[SEEDS / 2],
                ratios[SEEDS * 99 / 100 - 1],
                ratios[SEEDS - 1],
                Arrays.stream(ratios).filter(ratio -> ratio > 1.003).count(),
                millis[SEEDS / 2],
                millis[SEEDS * 99 / 100 - 1]);
    }

    /** CPU time of the threads that ask, which take turns: each ask adds what its thread took since it asked last. */
    private static final class CpuClock implements LongSupplier {
        private final Thread first = Thread.currentThread();
        private final Map<Thread, Long> last = new HashMap<>();
        private long total;

        @Override
        public synchronized long getAsLong() {
            long now = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            Long before = last.put(Thread.currentThread(), now);
            if (before != null) {
                total += now - before;
            } else if (Thread.currentThread() != first) {
                total += now;
            }
            return total;
        }
    }

    /** Whether what is left above the most bytes live at once is due to plans or to the bound. */
    @Test
    void generated_small_provedOptimal() {
        int optimal = 0;
        int atMostLive = 0;
        for (int count : new int[] {10, 14, 18, 24, 30}) {
            for (long seed = 0; seed < 20; seed++) {
                PlanProblem problem = RandomProblem.uniform(count, seed);
                Certificate certificate = MemoryPlanner.plan(problem, PlanOptions.within(Duration.ofMillis(400)))
                        .certificate();
                optimal += certificate.optimal() ? 1 : 0;
                atMostLive += certificate.height() == LowerBound.of(new Timeline(problem)) ? 1 : 0;
            }
        }
        print("uniform, 10 to 30 buffers: %d of 100 proved optimal, %d at the most bytes live", optimal, atMostLive);
    }

    /** What a training thread waits for when a pass is planned. */
    @Test
    void training_within200Milliseconds() {
        for (int count : new int[] {500, 2000, 5000, 10_000, 20_000, 50_000}) {
            row("training", RandomProblem.training(count, 1), PlanOptions.within(Duration.ofMillis(200)));
        }
    }

    @Test
    void generated_ofTenThousandShortLives_inASecond() {
        int seeds = 30;
        int atBound = 0;
        double[] millis = new double[seeds];
        for (int seed = 0; seed < seeds; seed++) {
            PlanProblem problem = RandomProblem.shortLives(10_000, seed);
            Certificate certificate = MemoryPlanner.plan(
                            problem, PlanOptions.within(Duration.ofSeconds(1)), new CpuClock())
                    .certificate();
            atBound += certificate.height() == LowerBound.of(new Timeline(problem)) ? 1 : 0;
            millis[seed] = certificate.time().toNanos() / 1e6;
        }
        Arrays.sort(millis);
        print(
                "short 10k: %d of %d at the bound, ms of CPU median %.0f, worst %.0f",
                atBound, seeds, millis[seeds / 2], millis[seeds - 1]);
    }

    @Test
    void generated_ofAMillion() {
        for (PlanOptions options :
                new PlanOptions[] {PlanOptions.greedy(), PlanOptions.within(Duration.ofSeconds(8))}) {
            row("training 1M", RandomProblem.training(1_000_000, 1), options);
            row("short 1M", RandomProblem.shortLives(1_000_000, 1), options);
        }
    }

    /** Five problems of a kind with 50 ms each, after as many to warm up. */
    private static void family(String name, LongFunction<PlanProblem> kind) {
        StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-12s height / bound, wall ms:", name));
        for (long seed = -20; seed < 5; seed++) {
            PlanProblem problem = kind.apply(seed);
            MemoryPlan plan = MemoryPlanner.plan(problem, PlanOptions.within(Duration.ofMillis(50)));
            Certificate certificate = plan.certificate();
            if (seed >= 0) {
                line.append(String.format(
                        Locale.ROOT,
                        "  %.5f %d",
                        (double) certificate.height() / certificate.lowerBound(),
                        certificate.time().toMillis()));
            }
        }
        print("%s", line);
    }

    private static void row(String name, PlanProblem problem, PlanOptions options) {
        long start = cpuNanos();
        MemoryPlan plan = MemoryPlanner.plan(problem, options);
        long cold = cpuNanos() - start;
        long warm = cold;
        for (int i = 0; i < REPEATS && problem.count() < 100_000; i++) {
            start = cpuNanos();
            MemoryPlanner.plan(problem, options);
            warm = Math.min(warm, cpuNanos() - start);
        }
        Certificate certificate = plan.certificate();
        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(certificate.height());
        print(
                "%-12s %7d %9.3f %9.3f %9.3f %9d %10d %10d",
                name,
                problem.count(),
                certificate.time().toNanos() / 1e9,
                cold / 1e9,
                warm / 1e9,
                certificate.nodes(),
                certificate.height(),
                certificate.lowerBound());
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
