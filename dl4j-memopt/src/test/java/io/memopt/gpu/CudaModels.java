// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cuda.DeviceUsages;
import io.memopt.allocator.cudnn.ScratchBudget;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.pool.DeviceReconciliation;
import io.memopt.allocator.pool.DeviceUsage;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WindowPeaks;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.ConvolutionReport;
import io.memopt.strategy.cudnn.ConvolutionRow;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Memory and time together of plain Deeplearning4j and of what this library makes of it, on a CUDA backend; a program, because
 * the tests' class path has none. Each way of each network has a JVM of its own and prints one line: most device memory by the
 * books and by the driver (growth since before the network), most host memory, first and median step, and a hash of the
 * parameters, equal for equal bits.
 *
 * <p>Ways: {@code PLAIN}; {@code EXACT}, planned workspaces, pool, untouched mirrors and own views, the same bits as plain; {@code CUDNN}, that
 * and convolutions through cuDNN; {@code CALLS}, that by its older functions; {@code TF32}, that with tensor cores. {@code CUDNN@n} and {@code TF32@n} have at most n MiB of
 * scratch memory. Each line is followed by plans, pool, what cuDNN chose, and the driver's figure taken apart. Arguments: {@code
 * NETWORK,batch,steps,WAY+WAY...} each.
 */
public final class CudaModels {
    private static final double MIB = 1 << 20;
    private static final String CHILD = "child";
    private static final int REHEARSED = 4;
    private static final long CHILD_SECONDS = 180;
    private static final int PARTS = 4;
    private static final int HOST_ROWS = 6;
    private static final long HOST_ROW_BYTES = 8L << 20;

    private enum Way {
        PLAIN,
        EXACT,
        CUDNN,
        CALLS,
        TF32
    }

    private CudaModels() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments[0].equals(CHILD)) {
            run(
                    CudnnCase.valueOf(arguments[1]),
                    Integer.parseInt(arguments[2]),
                    Integer.parseInt(arguments[3]),
                    arguments[4]);
            return;
        }
        for (String argument : arguments) {
            String[] parts = argument.split(",", PARTS);
            for (String way : parts[3].split("\\+", -1)) {
                child(parts[0], parts[1], parts[2], way);
            }
        }
    }

    private static void child(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), CudaModels.class.getName(), CHILD));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).inheritIO().start();
        if (!process.waitFor(CHILD_SECONDS, TimeUnit.SECONDS)) {
            System.out.println(String.join(" ", arguments) + ": still running after " + CHILD_SECONDS + " s");
        }
        process.destroyForcibly();
    }

    private static void run(CudnnCase kind, int batch, int steps, String name) {
        String[] parts = name.split("@", 2);
        Way way = Way.valueOf(parts[0]);
        Convolutions convolutions = parts.length > 1
                ? Convolutions.CUDNN.withScratchBytes(Long.parseLong(parts[1]) << 20)
                : Convolutions.CUDNN;
        MemoryLedger ledger = MemoryHooks.install().ledger();
        DeviceUsage began = usage();
        long before = freeBytes();
        Nd4j.getRandom().setSeed(7);
        Model model = kind.create();
        DataSet[] data = {kind.data(batch, 0), kind.data(batch, 1)};
        MemOpt memopt = way == Way.PLAIN ? null : MemOpt.attach(model, config(way, convolutions));
        long rehearsal = System.nanoTime();
        if (memopt != null) {
            memopt.rehearse(kind.data(REHEARSED, 9));
        }
        double prepared = (System.nanoTime() - rehearsal) / 1e6;
        Nd4j.getRandom().setSeed(11);
        double[] millis = new double[steps];
        long least = Long.MAX_VALUE;
        try (PeakWindow window = ledger.openPeakWindow()) {
            for (int i = 0; i < steps; i++) {
                long start = System.nanoTime();
                Networks.fit(model, data[i % data.length]);
                Nd4j.getExecutioner().commit();
                millis[i] = (System.nanoTime() - start) / 1e6;
                least = Math.min(least, freeBytes());
            }
            double first = millis[0];
            double[] steady = Arrays.copyOfRange(millis, Math.min(3, steps - 1), steps);
            Arrays.sort(steady);
            WindowPeaks peaks = window.take();
            print(
                    "%-8s b%-4d %-9s device peak %8.1f MiB by the books, %8.1f after steps by the driver; host peak %7.1f MiB;"
                            + " rehearsal %6.0f ms, first step %7.1f ms, median %8.3f ms (quartiles %.3f, %.3f); score %.7f, parameters %08x",
                    kind,
                    batch,
                    name,
                    peaks.reservedBytes(MemorySpace.DEVICE) / MIB,
                    (before - least) / MIB,
                    hostPeakBytes() / MIB,
                    prepared,
                    first,
                    steady[steady.length / 2],
                    steady[steady.length / 4],
                    steady[steady.length * 3 / 4],
                    model.score(),
                    Arrays.hashCode(model.params().dup().data().asFloat()));
            printHost(peaks, ledger);
        }
        if (memopt != null) {
            for (PlanRow row : memopt.plans()) {
                print(
                        "         plan %s %s: arena %.1f MiB, bound %.1f, open scopes %.1f, served %d, missed %d",
                        row.state(),
                        row.reason(),
                        row.arenaBytes() / MIB,
                        row.lowerBoundBytes() / MIB,
                        row.scopeBytes() / MIB,
                        row.served(),
                        row.missed());
            }
            print("         pool %s", memopt.devicePool());
            memopt.convolutions().ifPresent(CudaModels::printConvolutions);
            printDriver(memopt.deviceMemory(), began, ledger);
        }
    }

    /** What cuDNN chose, and what other amounts of scratch memory would give. */
    private static void printConvolutions(ConvolutionReport report) {
        print(
                "         scratch %.1f MiB, passes %.3f ms together",
                report.scratchBytes() / MIB,
                report.rows().stream().mapToLong(ConvolutionRow::nanos).sum() / 1e6);
        Map<String, Long> ways = report.rows().stream()
                .collect(Collectors.groupingBy(
                        row -> row.pass() + " " + row.algorithm() + " in " + row.parts(),
                        TreeMap::new,
                        Collectors.counting()));
        print("         ways: %s", ways);
        for (ScratchBudget.Choice choice : report.front()) {
            print(
                    "         front: scratch %.1f MiB, passes %.3f ms",
                    choice.scratchBytes() / MIB, choice.nanos() / 1e6);
        }
    }

    private static MemOptConfig config(Way way, Convolutions convolutions) {
        MemOptConfig.Builder config = MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .deviceMemory(DeviceMemory.POOL)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .ownViews(true);
        return switch (way) {
            case PLAIN, EXACT -> config.build();
            case CUDNN -> config.convolutions(convolutions).build();
            case CALLS -> config.convolutions(convolutions.withGraphs(false)).build();
            case TF32 -> config.convolutions(convolutions.withTf32(true)).build();
        };
    }

    /** What the process holds on the host, by its status and by the books, which do not know what ND4J's native code allocates. */
    private static void printHost(WindowPeaks peaks, MemoryLedger ledger) {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        print(
                "         host: status %s; Java heap used %.1f MiB of %.1f; at most by the books %.1f pageable, %.1f page-locked",
                status("VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmLck", "VmPin"),
                heap.getUsed() / MIB,
                heap.getCommitted() / MIB,
                peaks.reservedBytes(MemorySpace.HOST) / MIB,
                peaks.reservedBytes(MemorySpace.PINNED) / MIB);
        ledger.liveAllocations().stream()
                .filter(live -> live.space() != MemorySpace.DEVICE && live.requestedBytes() >= HOST_ROW_BYTES)
                .sorted(Comparator.comparingLong((LiveAllocation live) -> -live.requestedBytes()))
                .limit(HOST_ROWS)
                .forEach(live -> print(
                        "         host: %s %.1f MiB of %s",
                        live.space(),
                        live.requestedBytes() / MIB,
                        ledger.owners().ownerOf(live.owner())));
    }

    /** Fields of this process's status, in MiB. */
    private static List<String> status(String... fields) {
        List<String> found = new ArrayList<>();
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                String name = line.split(":", 2)[0];
                if (List.of(fields).contains(name)) {
                    found.add(name + " " + (Long.parseLong(line.replaceAll("\\D", "")) >> 10));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found;
    }

    /** The ledger against the management library's figure, which nvidia-smi shows, since before the network. */
    private static void printDriver(DeviceReconciliation device, DeviceUsage began, MemoryLedger ledger) {
        long growth = device.usage().attributableBytes() - began.attributableBytes();
        long booked = ledger.reservedBytes(MemorySpace.DEVICE) + device.poolUnusedBytes();
        print(
                "         driver: growth %.1f MiB, ledger and unused pool %.1f MiB, apart %.1f MiB; parts in MiB %s, process told"
                        + " apart %s",
                growth / MIB,
                booked / MIB,
                (growth - booked) / MIB,
                device.parts().entrySet().stream()
                        .map(part -> String.format(Locale.ROOT, "%s %.1f", part.getKey(), part.getValue() / MIB))
                        .toList(),
                device.usage().processBytes().isPresent());
    }

    private static DeviceUsage usage() {
        try {
            return DeviceUsages.now();
        } catch (RuntimeException | LinkageError e) {
            print("         no figures of the driver: %s", e);
            return DeviceUsage.NONE;
        }
    }

    private static long freeBytes() {
        Nd4j.getExecutioner().commit();
        return NativeOpsHolder.getInstance().getDeviceNativeOps().getDeviceFreeMemory(0);
    }

    /** VmHWM of this process. */
    private static long hostPeakBytes() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("VmHWM"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
