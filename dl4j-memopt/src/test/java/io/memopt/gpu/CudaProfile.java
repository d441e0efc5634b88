// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cuda.CudaPools;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.strategy.step.OwnViews;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Where the time of a training step goes on a CUDA backend, and what each part of this library changes of it; a program, because
 * the tests' class path has none. Each network has a JVM of its own, in which ways follow one another in rounds, so that all meet
 * the same machine. In the first round each way's native calls are listed, as they are and one at a time, see {@link NativeProfile}.
 *
 * <p>Arguments: folder for {@code profile-NETWORK-WAY.txt}, the first way; then {@code NETWORK,batch,steps,rounds,WAY+WAY...} each. Ways: {@code PLAIN};
 * {@code OBSERVED}; {@code MIRRORS}, untouched host mirrors, as all those that follow; {@code PAGES}, a pool of 2 MiB pages; {@code
 * LARGE}, of 32 MiB pages; {@code MALLOC}, a pool of segments from cudaMalloc; {@code PLANNED}, planned workspaces without a pool;
 * {@code EXACT}, with the pool of 2 MiB pages; {@code EXACT_LARGE}; {@code EXACT_MALLOC}; {@code CUDNN}, exact and convolutions
 * through cuDNN; {@code CUDNN_ONLY}, {@code CUDNN_PLANNED}, {@code CUDNN_LARGE} and {@code CUDNN_MALLOC} likewise; {@code CUDNN_APART}, with running statistics layer by layer; {@code CUDNN_CALLS}, by its older functions; {@code CUDNN_VIEWS}, with the updater's own views. With {@code
 * @stacks} after the last way, the first round also writes {@code stacks-NETWORK-WAY.txt} for each, see {@link StackSamples}.
 */
public final class CudaProfile {
    private static final String CHILD = "child";
    private static final int FIXED = 2;
    private static final int PARTS = 5;
    private static final int LEARNING = 6;
    private static final int ROWS = 40;
    private static final int PROFILED = 2;
    private static final long LARGE_PAGE = 32L << 20;
    private static final long CHILD_SECONDS = 420;
    private static final String STACKS = "@stacks";

    /** Where device memory comes from. */
    private enum Memory {
        OWN,
        PAGES,
        LARGE,
        MALLOC
    }

    private enum Way {
        PLAIN(Memory.OWN, false, false),
        OBSERVED(Memory.OWN, false, false),
        MIRRORS(Memory.OWN, false, false),
        PAGES(Memory.PAGES, false, false),
        LARGE(Memory.LARGE, false, false),
        MALLOC(Memory.MALLOC, false, false),
        PLANNED(Memory.OWN, true, false),
        EXACT(Memory.PAGES, true, false),
        EXACT_LARGE(Memory.LARGE, true, false),
        EXACT_MALLOC(Memory.MALLOC, true, false),
        CUDNN_ONLY(Memory.OWN, false, true),
        CUDNN_PLANNED(Memory.OWN, true, true),
        CUDNN(Memory.PAGES, true, true),
        CUDNN_APART(Memory.PAGES, true, true),
        CUDNN_CALLS(Memory.PAGES, true, true),
        CUDNN_VIEWS(Memory.PAGES, true, true),
        CUDNN_LARGE(Memory.LARGE, true, true),
        CUDNN_MALLOC(Memory.MALLOC, true, true);

        private final Memory memory;
        private final boolean planned;
        private final boolean cudnn;

        Way(Memory memory, boolean planned, boolean cudnn) {
            this.memory = memory;
            this.planned = planned;
            this.cudnn = cudnn;
        }
    }

    private final PrintWriter out;
    /** Where stacks go; null when nobody asked for them. */
    private final @Nullable Path stacks;

    private final CudnnCase kind;
    private final DataSet[] data;
    private final int batch;
    private final int steps;
    private final Model model;

    private CudaProfile(PrintWriter out, @Nullable Path stacks, CudnnCase kind, int batch, int steps) {
        this.out = out;
        this.stacks = stacks;
        this.kind = kind;
        this.batch = batch;
        this.steps = steps;
        this.data = new DataSet[] {kind.data(batch, 0), kind.data(batch, 1)};
        this.model = kind.create();
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        if (arguments[1].equals(CHILD)) {
            child(folder, arguments[2].split(",", PARTS));
            System.exit(0);
        }
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            start(folder.toString(), argument);
        }
    }

    private static void start(String folder, String network) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), CudaProfile.class.getName()));
        command.addAll(List.of(folder, CHILD, network));
        Process process = new ProcessBuilder(command).inheritIO().start();
        if (!process.waitFor(CHILD_SECONDS, TimeUnit.SECONDS)) {
            System.out.println(network + ": still running after " + CHILD_SECONDS + " s");
        }
        process.destroyForcibly();
    }

    private static void child(Path folder, String[] parts) throws IOException {
        CudnnCase kind = CudnnCase.valueOf(parts[0]);
        int rounds = Integer.parseInt(parts[FIXED + 1]);
        boolean stacks = parts[FIXED + 2].endsWith(STACKS);
        Way[] ways = Arrays.stream(parts[FIXED + 2].replace(STACKS, "").split("\\+", -1))
                .map(Way::valueOf)
                .toArray(Way[]::new);
        try (PrintWriter file =
                new PrintWriter(Files.newBufferedWriter(folder.resolve("profile-" + kind + "-" + ways[0] + ".txt")))) {
            CudaProfile profile = new CudaProfile(
                    file, stacks ? folder : null, kind, Integer.parseInt(parts[1]), Integer.parseInt(parts[FIXED]));
            profile.compare(ways, rounds);
        }
    }

    private void compare(Way[] ways, int rounds) {
        print("%s batch %d, %d steps a block, %s", kind, batch, steps, Nd4jFacts.backend());
        double[][] medians = new double[ways.length][rounds];
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < ways.length; i++) {
                int way = (round + i) % ways.length;
                medians[way][round] = attempt(ways[way], round == 0);
            }
        }
        for (int way = 0; way < ways.length; way++) {
            print("%-12s medians of the rounds, ms: %s", ways[way], Arrays.toString(medians[way]));
        }
    }

    /** Median step in ms; no number when it failed. */
    private double attempt(Way way, boolean profiled) {
        try {
            return block(way, profiled);
        } catch (RuntimeException | LinkageError e) {
            print(
                    "%s FAILED: %s at %s",
                    way, e, Arrays.asList(e.getStackTrace()).subList(0, 6));
            return Double.NaN;
        }
    }

    private double block(Way way, boolean profiled) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Nd4j.getRandom().setSeed(7);
        if (way == Way.CUDNN_VIEWS) {
            OwnViews.use(model);
        } else {
            OwnViews.end(model);
        }
        try (MemOpt memopt = attach(way)) {
            long learning = System.nanoTime();
            if (way.planned && memopt != null) {
                memopt.rehearse(kind.data(4, 9));
            }
            for (int i = 0; i < LEARNING; i++) {
                Networks.fit(model, data[i % data.length]);
            }
            Nd4j.getExecutioner().commit();
            double learned = (System.nanoTime() - learning) / 1e6;
            double[] millis = new double[steps];
            long faults = NativeProfile.minorFaults();
            for (int i = 0; i < steps; i++) {
                long start = System.nanoTime();
                Networks.fit(model, data[i % data.length]);
                Nd4j.getExecutioner().commit();
                millis[i] = (System.nanoTime() - start) / 1e6;
            }
            faults = NativeProfile.minorFaults() - faults;
            Arrays.sort(millis);
            print(
                    "%-12s median %.3f ms (quartiles %.3f, %.3f), first %d steps %.0f ms, %.1f page faults a step; %s",
                    way,
                    millis[steps / 2],
                    millis[steps / 4],
                    millis[steps * 3 / 4],
                    LEARNING,
                    learned,
                    faults / (double) steps,
                    pool(memopt));
            if (profiled) {
                sample(way);
                profile(way, false);
                profile(way, true);
            }
            return millis[steps / 2];
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private void sample(Way way) {
        if (stacks == null) {
            return;
        }
        try {
            StackSamples.write(stacks.resolve("stacks-" + kind + "-" + way + ".txt"), () -> {
                for (int i = 0; i < steps; i++) {
                    Networks.fit(model, data[i % data.length]);
                }
                Nd4j.getExecutioner().commit();
            });
        } catch (IOException e) {
            print("  %s: no stacks: %s", way, e);
        }
    }

    private void profile(Way way, boolean oneAtATime) {
        try (NativeProfile profile = NativeProfile.begin(oneAtATime)) {
            for (int i = 0; i < PROFILED; i++) {
                Networks.fit(model, data[i % data.length]);
            }
            Nd4j.getExecutioner().commit();
            print("  %s, %s", way, String.join("\n", profile.lines(PROFILED, ROWS)));
        }
    }

    private @Nullable MemOpt attach(Way way) {
        if (way == Way.PLAIN) {
            return null;
        }
        if (way == Way.OBSERVED) {
            return MemOpt.attach(model);
        }
        boolean cuda = Nd4jFacts.isCuda();
        MemOptConfig.Builder config = MemOptConfig.builder()
                .reuse(way.planned ? Reuse.PLANNED : Reuse.OFF)
                .hostMirrors(cuda ? HostMirrors.UNTOUCHED : HostMirrors.PINNED)
                .convolutions(
                        way.cudnn
                                ? Convolutions.CUDNN
                                        .withJoinStatistics(way != Way.CUDNN_APART)
                                        .withGraphs(way != Way.CUDNN_CALLS)
                                : Convolutions.BUILT_IN);
        MemOpt memopt = MemOpt.attach(model, config.build());
        IntFunction<MemoryPool> opener = opener(way.memory);
        if (opener != null && cuda) {
            MemoryHooks.serve(
                    opener, number -> CudaPools.pinned(number, PoolOptions.UNLIMITED.withRetained(256L << 20)), true);
        }
        return memopt;
    }

    private static @Nullable IntFunction<MemoryPool> opener(Memory memory) {
        return switch (memory) {
            case OWN -> null;
            case PAGES -> number -> CudaPools.device(number, PoolOptions.UNLIMITED);
            case LARGE -> number -> CudaPools.pages(number, LARGE_PAGE, PoolOptions.UNLIMITED);
            case MALLOC -> number -> CudaPools.device(number, CudaPools.Source.MALLOC, PoolOptions.UNLIMITED);
        };
    }

    private static String pool(@Nullable MemOpt memopt) {
        return memopt == null ? "" : memopt.devicePool().toString();
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
