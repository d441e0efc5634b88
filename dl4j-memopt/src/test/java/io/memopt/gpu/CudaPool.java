// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cuda.CudaPools;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
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
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Device pools and host mirrors on a CUDA backend; a program, because the tests' class path has none. Prints whether training
 * equals plain training bit for bit, first steps and peaks (VGG-16 in a JVM of its own for each way), and what happens at the
 * limit, on detach with live blocks and with several threads. Prices: {@link CudaPoolPrices}.
 *
 * <p>Arguments: folder for {@code pool.txt}; a second one, {@code vgg16} followed by {@code plain}, {@code mirrors} or {@code both}, is
 * for the program's own use.
 */
public final class CudaPool {
    private static final int ITERATIONS = 30;
    private static final long MIB = 1 << 20;
    private static final long CHILD_SECONDS = 150;

    private final PrintWriter out;

    private CudaPool(PrintWriter out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path folder = Path.of(arguments.length > 0 ? arguments[0] : ".");
        Files.createDirectories(folder);
        if (arguments.length > 2) {
            try (PrintWriter file = writer(folder, "pool-" + arguments[2] + ".txt")) {
                new CudaPool(file).vgg16(arguments[2]);
            }
            return;
        }
        try (PrintWriter file = writer(folder, "pool.txt")) {
            CudaPool program = new CudaPool(file);
            program.print(
                    "backend %s, ND4J %s, best source %s", Nd4jFacts.backend(), Nd4jFacts.version(), CudaPools.best(0));
            program.attempt("untouched memory", program::pinnedStaysPinned);
            for (Networks family : Networks.values()) {
                program.attempt(family.name(), () -> program.equality(family));
            }
            program.attempt("limit", program::limit);
            program.attempt("detach", program::detachWithLiveBlocks);
            program.attempt("threads", program::threads);
            for (String mode : List.of("plain", "mirrors", "both")) {
                program.child(folder, mode);
            }
        }
    }

    private static PrintWriter writer(Path folder, String name) throws IOException {
        return new PrintWriter(Files.newBufferedWriter(folder.resolve(name)));
    }

    /** One part that fails is told and does not take the others with it. */
    private void attempt(String part, Part work) {
        try {
            work.run();
        } catch (Exception | LinkageError e) {
            print("FAILED %s: %s", part, e);
            e.printStackTrace(out);
            out.flush();
        }
    }

    /** Zero-copy workspaces give kernels host addresses: these must not become pageable. */
    private void pinnedStaysPinned() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt ignored = MemOpt.attach(model, config("both"))) {
            long before = MemoryHooks.recording().ledger().reservedBytes(MemorySpace.PINNED);
            WorkspaceConfiguration zeroCopy = WorkspaceConfiguration.builder()
                    .initialSize(MIB)
                    .policyMirroring(MirroringPolicy.HOST_ONLY)
                    .build();
            try (MemoryWorkspace workspace =
                    Nd4j.getWorkspaceManager().getAndActivateWorkspace(zeroCopy, "ZERO_COPY")) {
                INDArray array = Nd4j.ones(DataType.FLOAT, 1000);
                print(
                        "zero-copy workspace: sum %s (expected 1000), pinned %+d B",
                        array.sumNumber(), MemoryHooks.recording().ledger().reservedBytes(MemorySpace.PINNED) - before);
            }
        }
    }

    // ---- equality

    private void equality(Networks family) {
        MemoryHooks.uninstall();
        int batch = family == Networks.LENET ? 1024 : 32;
        int[] plain = train(family, batch, "plain");
        boolean repeats = Arrays.equals(plain, train(family, batch, "plain"));
        for (String mode : List.of("observed", "mirrors", "pool", "both")) {
            boolean equal = Arrays.equals(plain, train(family, batch, mode));
            print("%s b%d %s: equal to plain %s (plain repeats %s)", family, batch, mode, equal, repeats);
        }
    }

    /** Bits of the parameters after {@value #ITERATIONS} iterations. */
    private int[] train(Networks family, int batch, String mode) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOpt memopt = mode.equals("plain") ? null : MemOpt.attach(model, config(mode));
        long free = freeBytes();
        Peaks peaks = Peaks.start(memopt != null);
        long first = 0;
        for (int i = 0; i < ITERATIONS; i++) {
            long calls = driverCalls(memopt);
            long start = System.nanoTime();
            Networks.fit(model, family.data(batch, i));
            Nd4j.getExecutioner().commit();
            first = i == 0 ? System.nanoTime() - start : first;
            if (i == ITERATIONS - 1 && memopt != null) {
                print("   driver calls of the last iteration: %d", driverCalls(memopt) - calls);
            }
        }
        peaks.end();
        int[] bits = bits(model.params());
        print(
                "   %s: first step %.1f ms, device peak %.1f MiB by the driver, %.1f MiB by the ledger; VmHWM %s",
                mode, first / 1e6, (free - peaks.leastFree) / (double) MIB, peaks.most / (double) MIB, hostPeak());
        if (memopt != null) {
            memopt.summary().notes().forEach(note -> print("   %s", note));
            memopt.close();
            MemoryHooks.uninstall();
        }
        return bits;
    }

    private static MemOptConfig config(String mode) {
        return MemOptConfig.builder()
                .deviceMemory(mode.equals("pool") || mode.equals("both") ? DeviceMemory.POOL : DeviceMemory.PLAIN)
                .hostMirrors(mode.equals("mirrors") || mode.equals("both") ? HostMirrors.UNTOUCHED : HostMirrors.PINNED)
                .build();
    }

    // ---- failure

    private void limit() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder()
                .deviceMemory(DeviceMemory.POOL)
                .deviceLimitBytes(64 * MIB)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            try {
                Networks.fit(model, Networks.LENET.data(1024, 1));
                print("FAILED limit: LeNet b1024 fits 64 MiB?");
            } catch (RuntimeException e) {
                Throwable cause = e;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                print("limit of 64 MiB: %s", cause);
                print("   explained: %s", MemOpt.explain(e).replace("\n", "\n   "));
            }
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            Networks.fit(model, Networks.LENET.data(16, 1));
            print("   afterwards LeNet b16 trains: score %s", model.score());
        }
    }

    private void detachWithLiveBlocks() {
        MemoryHooks.uninstall();
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        INDArray kept;
        try (MemOpt memopt = MemOpt.attach(model, config("both"))) {
            Networks.fit(model, Networks.VGG.data(32, 1));
            kept = Nd4j.ones(DataType.FLOAT, 1 << 20);
        }
        MemoryHooks.uninstall();
        print(
                "detached with live blocks: sum %s (expected %d), native calls through %s",
                kept.sumNumber(), 1 << 20, ops().getClass().getSimpleName());
        for (int i = 0; i < 5; i++) {
            Networks.fit(model, Networks.VGG.data(32, i));
        }
        kept.close();
        print("   5 more iterations: score %s, last error code %d", model.score(), ops().lastErrorCode());
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        print(
                "   after close and collection: native calls through %s",
                ops().getClass().getSimpleName());
    }

    private void threads() throws InterruptedException {
        MemoryHooks.uninstall();
        int[] alone = train(Networks.RESIDUAL_GRAPH, 32, "plain");
        Model first = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        Model second = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(first, config("both"));
                MemOpt other = MemOpt.attach(second, config("both"))) {
            List<Thread> threads = new ArrayList<>();
            for (Model model : List.of(first, second)) {
                Thread thread = new Thread(() -> {
                    for (int i = 0; i < ITERATIONS; i++) {
                        Networks.fit(model, Networks.RESIDUAL_GRAPH.data(32, i));
                    }
                    Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
                });
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            print(
                    "two networks on two threads: equal to plain %s and %s",
                    Arrays.equals(alone, bits(first.params())), Arrays.equals(alone, bits(second.params())));
            memopt.summary().notes().forEach(note -> print("   %s", note));
        }
        MemoryHooks.uninstall();
    }

    // ---- VGG-16

    private void child(Path folder, String mode) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), CudaPool.class.getName()));
        command.addAll(List.of(folder.toString(), "vgg16", mode));
        Process process = new ProcessBuilder(command).inheritIO().start();
        if (!process.waitFor(CHILD_SECONDS, TimeUnit.SECONDS)) {
            print("FAILED vgg16 %s: still running after %d s", mode, CHILD_SECONDS);
        }
        process.destroyForcibly();
    }

    private void vgg16(String mode) {
        Nd4j.getRandom().setSeed(7);
        MultiLayerNetwork network = new MultiLayerNetwork(Vgg16.configuration());
        network.init();
        MemOpt memopt = mode.equals("plain") ? null : MemOpt.attach(network, config(mode));
        INDArray images = Nd4j.rand(DataType.FLOAT, 32, 3, 224, 224);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 32, 1000);
        for (int i = 0; i < 32; i++) {
            labels.putScalar(i, i, 1);
        }
        Nd4j.getExecutioner().commit();
        long free = freeBytes();
        Peaks peaks = Peaks.start(memopt != null);
        StringBuilder steps = new StringBuilder();
        for (int i = 0; i < 5; i++) {
            long calls = driverCalls(memopt);
            long start = System.nanoTime();
            network.fit(images, labels);
            Nd4j.getExecutioner().commit();
            steps.append(String.format(
                    Locale.ROOT,
                    " %.0f ms (%d calls)",
                    (System.nanoTime() - start) / 1e6,
                    driverCalls(memopt) - calls));
        }
        peaks.end();
        print("VGG-16 b32 224x224 %s: steps%s", mode, steps);
        print(
                "   device peak beyond parameters %.1f MiB by the driver, peak %.1f MiB by the ledger; VmHWM %s",
                (free - peaks.leastFree) / (double) MIB, peaks.most / (double) MIB, hostPeak());
        print("   score %.9f, parameters %08x", network.score(), Arrays.hashCode(bits(network.params())));
        if (memopt != null) {
            memopt.trimDeviceMemory();
            memopt.summary().notes().forEach(note -> print("   after a trim: %s", note));
        }
    }

    // ---- figures

    private static long driverCalls(MemOpt memopt) {
        return memopt == null ? 0 : memopt.devicePool().calls().total();
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }

    private static long freeBytes() {
        Nd4j.getExecutioner().commit();
        return ops().getDeviceFreeMemory(0);
    }

    private static String hostPeak() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("VmHWM") || line.startsWith("VmRSS"))
                    .map(line -> line.replaceAll("\\s+", " "))
                    .toList()
                    .toString();
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static int[] bits(INDArray array) {
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }

    /** A part of the program. */
    @FunctionalInterface
    private interface Part {
        void run() throws Exception;
    }

    /** Looks at both figures every five milliseconds. */
    private static final class Peaks extends Thread {
        volatile long leastFree = Long.MAX_VALUE;
        volatile long most;
        private final boolean ledger;
        private volatile boolean ended;

        private Peaks(boolean ledger) {
            super("peaks");
            this.ledger = ledger;
            setDaemon(true);
        }

        static Peaks start(boolean ledger) {
            Peaks peaks = new Peaks(ledger);
            peaks.start();
            return peaks;
        }

        @Override
        public void run() {
            while (!ended) {
                leastFree = Math.min(leastFree, ops().getDeviceFreeMemory(0));
                if (ledger) {
                    most = Math.max(most, MemoryHooks.recording().ledger().reservedBytes(MemorySpace.DEVICE));
                }
                try {
                    Thread.sleep(5);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }

        void end() {
            ended = true;
            try {
                join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
