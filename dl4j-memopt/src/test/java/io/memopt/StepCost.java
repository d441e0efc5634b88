// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.guard.OutOfMemory;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What recording costs a training step: plain Deeplearning4j, plain again (the noise), hooks alone, attached, attached
 * with a trace file, with last uses in it, with scope check, with a guard against running out of memory. All in one JVM, in rounds, in an order that
 * rotates with each round. A block's figure is the lower
 * quartile of its steps, which other load on the machine disturbs least; compared is each block with the plain one of
 * the same round. Last, the shares of the recorder and, where it is among the variants, of the guard in the samples of a profiler.
 *
 * <p>A program too, for machines on which the tests do not run. Arguments: rounds, or {@code rounds:VARIANT,VARIANT}, then {@code
 * FAMILY,batch} pairs; or
 * {@code alone VARIANT FAMILY,batch} for one line of one variant.
 */
public final class StepCost {
    private static final int WARM = 20;
    private static final int TIMED = 40;
    private static final int BLOCKS = 15;
    private static final String ALONE = "alone";
    private static final MemOptConfig GUARD =
            MemOptConfig.builder().outOfMemory(OutOfMemory.RECOVER).build();
    /** Steps sampled for each round. */
    private static final int SAMPLED = 60;

    enum Variant {
        PLAIN,
        PLAIN_AGAIN,
        HOOKS,
        ATTACHED,
        ATTACHED_TRACE,
        USES_TRACE,
        SCOPE_CHECK,
        GUARDED
    }

    /** A step's time on the clock and on the training thread, both in ms. */
    private record Step(double wall, double cpu) {}

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final int rounds;
    private final Variant[] variants;

    /** Measures {@code variants}, of which {@link Variant#PLAIN} is the first. */
    StepCost(int rounds, List<Variant> variants) {
        this.rounds = rounds;
        this.variants = variants.toArray(new Variant[0]);
    }

    public static void main(String[] arguments) {
        if (arguments[0].equals(ALONE)) {
            alone(Variant.valueOf(arguments[1]), arguments[2].split(",", -1));
            return;
        }
        String[] how = arguments[0].split(":", 2);
        List<Variant> variants = how.length == 1
                ? List.of(Variant.values())
                : Arrays.stream(how[1].split(",", -1)).map(Variant::valueOf).toList();
        StepCost cost = new StepCost(Integer.parseInt(how[0]), variants);
        for (int i = 1; i < arguments.length; i++) {
            String[] parts = arguments[i].split(",", -1);
            cost.measure(Networks.valueOf(parts[0]), Integer.parseInt(parts[1]));
        }
    }

    /** One variant in a JVM of its own: the call sites of others do not meet its classes. */
    private static void alone(Variant variant, String[] network) {
        Networks family = Networks.valueOf(network[0]);
        int batch = Integer.parseInt(network[1]);
        Model model = family.create(WorkspaceMode.ENABLED);
        DataSet data = family.data(batch, 1);
        Step[] steps = new Step[BLOCKS];
        for (int i = -2; i < BLOCKS; i++) {
            Step step = block(model, data, variant);
            if (i >= 0) {
                steps[i] = step;
            }
        }
        print(
                "%s batch %d alone %s: %.4f ms a step, %.4f ms CPU",
                family, batch, variant, median(wall(steps)), median(cpu(steps)));
    }

    /** As {@link #measure(String, Model, DataSet)} with a network of {@code family}. */
    public double measure(Networks family, int batch) {
        return measure(family + " batch " + batch, family.create(WorkspaceMode.ENABLED), family.data(batch, 1));
    }

    /** Prints the table of one network; returns the plain step's time on the clock, in ms. */
    double measure(String name, Model model, DataSet data) {
        Step[][] steps = new Step[variants.length][rounds];
        for (Variant variant : variants) {
            block(model, data, variant);
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < variants.length; i++) {
                int variant = (round + i) % variants.length;
                steps[variant][round] = block(model, data, variants[variant]);
            }
        }
        double wall = median(wall(steps[0]));
        double cpu = median(cpu(steps[0]));
        print("%s: plain %.3f ms a step, %.3f ms CPU (%d rounds)", name, wall, cpu, rounds);
        for (int variant = 1; variant < variants.length; variant++) {
            print(
                    "  %-15s clock %s   CPU %s",
                    variants[variant],
                    compared(wall(steps[variant]), wall(steps[0])),
                    compared(cpu(steps[variant]), cpu(steps[0])));
        }
        compareGuarded(steps);
        print("  %s", share(model, data, MemOptConfig.defaults(), RecorderShare::during));
        if (List.of(variants).contains(Variant.GUARDED)) {
            print("  %s", share(model, data, GUARD, GuardShare::during));
        }
        return wall;
    }

    /** What a guard adds to being attached. */
    private void compareGuarded(Step[][] steps) {
        int guarded = List.of(variants).indexOf(Variant.GUARDED);
        int attached = List.of(variants).indexOf(Variant.ATTACHED);
        if (guarded >= 0 && attached >= 0) {
            print(
                    "  GUARDED against ATTACHED: clock %s   CPU %s",
                    compared(wall(steps[guarded]), wall(steps[attached])),
                    compared(cpu(steps[guarded]), cpu(steps[attached])));
        }
    }

    /** What a profiler says of steps. */
    private interface Sampling<T> {
        T during(Runnable steps) throws IOException;
    }

    /** How much of the training thread's time is code of ours, attached with {@code config}. */
    private <T> T share(Model model, DataSet data, MemOptConfig config, Sampling<T> sampling) {
        MemoryHooks.uninstall();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            steps(model, data);
            return sampling.during(() -> {
                for (int i = 0; i < SAMPLED * rounds; i++) {
                    Networks.fit(model, data);
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Step block(Model model, DataSet data, Variant variant) {
        MemoryHooks.uninstall();
        try {
            Path trace = Files.createTempFile("bench", ".memopt");
            MemOpt memopt = begin(model, variant, trace);
            Step step = steps(model, data);
            if (memopt != null) {
                memopt.close();
            }
            Files.delete(trace);
            System.gc();
            return step;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MemOpt begin(Model model, Variant variant, Path trace) {
        MemOptConfig.Builder config = MemOptConfig.builder();
        return switch (variant) {
            case PLAIN, PLAIN_AGAIN -> null;
            case HOOKS -> {
                MemoryHooks.install();
                yield null;
            }
            case ATTACHED -> MemOpt.attach(model);
            case ATTACHED_TRACE -> MemOpt.attach(model, config.trace(trace).build());
            case USES_TRACE ->
                MemOpt.attach(model, config.trace(trace).recordUses(true).build());
            case GUARDED -> MemOpt.attach(model, GUARD);
            case SCOPE_CHECK -> MemOpt.attach(model, config.scopeCheck(true).build());
        };
    }

    /** Lower quartiles once workspaces have settled. */
    private static Step steps(Model model, DataSet data) {
        double[] wall = new double[TIMED];
        double[] cpu = new double[TIMED];
        for (int i = -WARM; i < TIMED; i++) {
            long start = System.nanoTime();
            long cpuStart = THREADS.getCurrentThreadCpuTime();
            Networks.fit(model, data);
            Nd4j.getExecutioner().commit();
            if (i >= 0) {
                cpu[i] = (THREADS.getCurrentThreadCpuTime() - cpuStart) / 1e6;
                wall[i] = (System.nanoTime() - start) / 1e6;
            }
        }
        return new Step(quantile(wall, 0.25), quantile(cpu, 0.25));
    }

    private static String compared(double[] values, double[] plain) {
        double[] deltas = new double[plain.length];
        for (int i = 0; i < deltas.length; i++) {
            deltas[i] = values[i] - plain[i];
        }
        return String.format(
                Locale.ROOT,
                "%+.3f ms (%+.2f %%), quartiles %+.3f .. %+.3f",
                median(deltas),
                100 * median(deltas) / median(plain),
                quantile(deltas, 0.25),
                quantile(deltas, 0.75));
    }

    private static double[] wall(Step[] steps) {
        return Arrays.stream(steps).mapToDouble(Step::wall).toArray();
    }

    private static double[] cpu(Step[] steps) {
        return Arrays.stream(steps).mapToDouble(Step::cpu).toArray();
    }

    private static double median(double[] values) {
        return quantile(values, 0.5);
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
