// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.budget.BudgetException;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Budgets that also choose the scratch memory of cuDNN's convolutions; a program, because the tests' class path has no CUDA. For each
 * network one ample budget, the least that can be met, as the refusal of a tiny one names it, and some between; for each one line and the report. Then one whose minibatches become
 * twice as large.
 *
 * <p>Arguments: folder for {@code scratch.txt} and {@code algorithms.json}; then {@code NETWORK,batch,steps} each, with a name of {@link
 * CudnnCase}.
 */
public final class CudaScratch {
    private static final double MB = 1e6;
    private static final long AMPLE = 64L << 30;
    private static final double[] BETWEEN = {0.75, 0.5, 0.25, 0.1};
    private static final int STACK = 8;

    private final PrintWriter out;
    private final Path cache;
    private final CudnnCase kind;
    private final int batch;
    private final int steps;

    /** Mean times of the later half of steps. */
    private String phases = "";

    /** By cuDNN's engine for itself, at the end of the latest training. */
    private long heldBytes;

    private CudaScratch(PrintWriter out, Path cache, String[] network) {
        this.out = out;
        this.cache = cache;
        this.kind = CudnnCase.valueOf(network[0]);
        this.batch = Integer.parseInt(network[1]);
        this.steps = Integer.parseInt(network[2]);
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("scratch.txt")))) {
            for (String network : Arrays.asList(arguments).subList(1, arguments.length)) {
                new CudaScratch(file, folder.resolve("algorithms.json"), network.split(",", -1)).compare();
            }
        }
        System.exit(0);
    }

    private void compare() {
        print("%s, batch %d, %d steps", kind, batch, steps);
        try {
            long most = within(AMPLE).chosen().peakBytes();
            long least = least();
            for (double share : BETWEEN) {
                within(least + (long) (share * (most - least)));
            }
            within(least);
            growing(least + (most - least) / 10);
        } catch (RuntimeException | LinkageError e) {
            StackTraceElement[] stack = e.getStackTrace();
            print("  FAILED: %s at %s", e, Arrays.asList(stack).subList(0, Math.min(STACK, stack.length)));
        }
    }

    /** Minibatches of half the size first, so that the budget is decided twice. */
    private void growing(long bytes) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        MemoryHooks.install();
        Model model = kind.create();
        try (MemOpt memopt = MemOpt.attach(model, budget(bytes))) {
            for (int size : new int[] {batch / 2, batch}) {
                DataSet data = kind.data(size, 0);
                for (int i = 0; i < steps / 2; i++) {
                    Networks.fit(model, data);
                }
                BudgetReport report = memopt.budget().orElseThrow();
                print(
                        "  growing, within %.2f MB: minibatches of %d decided for %d: %s; predicted %.3f MB, actual %.3f MB, decided in %.1f s with %.2f MB",
                        bytes / MB,
                        size,
                        report.batch(),
                        report.chosen().strategy(),
                        report.chosen().peakBytes() / MB,
                        report.actualPeakBytes().orElseThrow() / MB,
                        report.decidingMillis() / 1000,
                        report.decidingBytes() / MB);
            }
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private long least() {
        try {
            train(1000);
            throw new IllegalStateException("a budget of 1000 B was met");
        } catch (BudgetException e) {
            print("  %s", e.getMessage());
            return e.leastBytes();
        }
    }

    private BudgetReport within(long bytes) {
        BudgetReport report = train(bytes);
        long actual = report.actualPeakBytes().orElseThrow();
        print(
                "  %s within %.2f MB: %s; predicted %.3f MB and %.3f ms, actual %.3f MB and %.3f ms, %.2f MB of scratch beside it, decided with %.2f MB; %s",
                actual <= bytes ? "met" : "EXCEEDED",
                bytes / MB,
                report.chosen().strategy(),
                report.chosen().peakBytes() / MB,
                report.chosen().stepMillis(),
                actual / MB,
                report.actualStepMillis().orElse(0),
                heldBytes / MB,
                report.decidingBytes() / MB,
                phases);
        print("%s", report);
        return report;
    }

    private MemOptConfig budget(long bytes) {
        return MemOptConfig.builder()
                .budget(bytes + " B")
                .convolutions(Convolutions.CUDNN.withCache(cache))
                .deviceMemory(DeviceMemory.POOL)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .history(0)
                .build();
    }

    private BudgetReport train(long budget) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        MemoryHooks.install(); // so that the books have the parameters
        Model model = kind.create();
        DataSet[] data = {kind.data(batch, 0), kind.data(batch, 1)};
        System.gc();
        try (MemOpt memopt = MemOpt.attach(model, budget(budget))) {
            SimpleMeterRegistry later = new SimpleMeterRegistry();
            for (int i = 0; i < steps; i++) {
                if (i == steps / 2) {
                    memopt.bindTo(later);
                }
                Networks.fit(model, data[i % data.length]);
                Nd4j.getExecutioner().commit();
            }
            phases = phases(later);
            heldBytes = memopt.convolutions().orElseThrow().scratchBytes();
            return memopt.budget().orElseThrow();
        } finally {
            Arrays.stream(data)
                    .flatMap(each -> Stream.of(each.getFeatures(), each.getLabels()))
                    .forEach(INDArray::close);
            MemoryHooks.uninstall();
        }
    }

    private static String phases(MeterRegistry registry) {
        return registry.getMeters().stream()
                .filter(Timer.class::isInstance)
                .map(Timer.class::cast)
                .filter(timer -> timer.count() > 0 && timer.getId().getTag("phase") != null)
                .map(timer -> String.format(
                        Locale.ROOT, "%s %.2f ms", timer.getId().getTag("phase"), timer.mean(TimeUnit.MILLISECONDS)))
                .collect(Collectors.joining(", "));
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
