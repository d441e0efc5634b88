// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.cudnn.ConvolutionReport;
import io.memopt.strategy.cudnn.ConvolutionRow;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Steps at a quarter of the scratch memory that cuDNN's fastest algorithms need, against steps with all of it; a program, because
 * the tests' class path has none. Both take turns in one JVM, algorithms are measured once. Says which passes are computed otherwise.
 *
 * <p>Arguments: folder for {@code budget.txt} and {@code algorithms.json}; rounds; then {@code NETWORK,batch,steps} each.
 */
public final class CudaBudget {
    private static final double MIB = 1 << 20;
    private static final double NANOS_PER_MILLI = 1e6;
    private static final long UNBOUNDED = 2L << 30;
    private static final int WARM = 6;
    private static final int FIXED = 2;

    private final PrintWriter out;
    private final Convolutions unbounded;
    private final int rounds;

    private CudaBudget(PrintWriter out, Path cache, int rounds) {
        this.out = out;
        this.unbounded = Convolutions.CUDNN.withScratchBytes(UNBOUNDED).withCache(cache);
        this.rounds = rounds;
    }

    /** Times of one block of steps, and what cuDNN took. */
    private record Block(double median, long scratch, double passes, List<ConvolutionRow> rows) {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("budget.txt")))) {
            CudaBudget program =
                    new CudaBudget(file, folder.resolve("algorithms.json"), Integer.parseInt(arguments[1]));
            for (String network : Arrays.asList(arguments).subList(FIXED, arguments.length)) {
                program.attempt(network.split(",", -1));
            }
        }
        System.exit(0);
    }

    private void attempt(String[] network) {
        try {
            compare(CudnnCase.valueOf(network[0]), Integer.parseInt(network[1]), Integer.parseInt(network[FIXED]));
        } catch (RuntimeException | LinkageError e) {
            print("FAILED %s: %s", List.of(network), e);
        }
    }

    private void compare(CudnnCase kind, int batch, int steps) {
        Model model = kind.create();
        DataSet[] data = {kind.data(batch, 0), kind.data(batch, 1)};
        long all = block(model, data, unbounded, steps).scratch();
        double[][] medians = new double[2][rounds];
        Block[] last = new Block[2];
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < 2; i++) {
                int way = (round + i) % 2;
                last[way] = block(model, data, way == 0 ? unbounded : unbounded.withScratchBytes(all / 4), steps);
                medians[way][round] = last[way].median();
            }
        }
        double[] ratios = new double[rounds];
        Arrays.setAll(ratios, round -> medians[1][round] / medians[0][round]);
        Arrays.sort(ratios);
        print(
                "%s b%d: all %.1f MiB of scratch, passes %.3f ms, steps %s ms; a quarter %.1f MiB, passes %.3f ms, steps %s ms; a"
                        + " quarter over all: median %.3f (%.3f .. %.3f)",
                kind,
                batch,
                last[0].scratch() / MIB,
                last[0].passes(),
                Arrays.toString(medians[0]),
                last[1].scratch() / MIB,
                last[1].passes(),
                Arrays.toString(medians[1]),
                ratios[rounds / 2],
                ratios[0],
                ratios[rounds - 1]);
        for (int i = 0; i < last[0].rows().size(); i++) {
            ConvolutionRow one = last[0].rows().get(i);
            ConvolutionRow other = last[1].rows().get(i);
            if (!way(one).equals(way(other))) {
                print("  %s %s: %s, at a quarter %s", one.layer(), one.pass(), way(one), way(other));
            }
        }
    }

    private static String way(ConvolutionRow row) {
        return String.format(
                Locale.ROOT,
                "%s in %d with %.2f MiB %.3f ms",
                row.algorithm(),
                row.parts(),
                row.scratchBytes() / MIB,
                row.nanos() / NANOS_PER_MILLI);
    }

    private static Block block(Model model, DataSet[] data, Convolutions settings, int steps) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        MemOptConfig config = MemOptConfig.builder()
                .convolutions(settings)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .history(0)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            double[] millis = new double[steps];
            for (int i = -WARM; i < steps; i++) {
                long start = System.nanoTime();
                Networks.fit(model, data[Math.floorMod(i, data.length)]);
                Nd4j.getExecutioner().commit();
                if (i >= 0) {
                    millis[i] = (System.nanoTime() - start) / NANOS_PER_MILLI;
                }
            }
            Arrays.sort(millis);
            ConvolutionReport report = memopt.convolutions().orElseThrow();
            return new Block(
                    millis[steps / 2],
                    report.rows().stream()
                            .mapToLong(ConvolutionRow::scratchBytes)
                            .max()
                            .orElse(0),
                    report.rows().stream().mapToLong(ConvolutionRow::nanos).sum() / NANOS_PER_MILLI,
                    report.rows());
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
