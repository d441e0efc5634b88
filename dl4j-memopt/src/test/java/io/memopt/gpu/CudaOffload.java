// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.PinnedBlock;
import io.memopt.allocator.pool.CopyFigures;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WindowPeaks;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.strategy.offload.DeviceCopies;
import io.memopt.strategy.offload.Offload;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Checkpoints and updater state on the host of a GPU; a program, because the tests' class path has no CUDA. Ways take turns in one JVM,
 * all from the same parameters. For each network and way one line: most device memory in the first and in the later half of the steps, and page-locked memory in the later, by the books, beyond
 * what was there before the network was made, what the system counts as shared memory after each round, median step of each round, whether the parameters are those of the first plain training bit for bit, and what was copied, with the time that the
 * device stood still for it. Plain training comes twice, since not every network repeats itself on a GPU.
 *
 * <p>Arguments: folder for {@code offload.txt} and {@code algorithms.json}; rounds; then {@code NETWORK,batch,steps} each, with a name
 * of {@link Networks} or of {@link CudnnCase}, and behind it {@code ,planned} and {@code ,cudnn} for what is in effect in all ways.
 */
public final class CudaOffload {
    private static final double MIB = 1 << 20;
    private static final double NANOS_PER_MILLI = 1e6;
    private static final int FIXED = 2;
    private static final int STACK = 8;
    private static final int IMPOSSIBLE = 46;

    private final PrintWriter out;
    private final Path cache;
    private final int rounds;
    private final String name;
    private final int batch;
    private final DataSet[] data;
    private final List<String> base;
    private float @Nullable [] initial;
    private float @Nullable [] first;

    private CudaOffload(PrintWriter out, Path folder, int rounds, String[] network) {
        this.out = out;
        this.cache = folder.resolve("algorithms.json");
        this.rounds = rounds;
        this.name = network[0];
        this.batch = Integer.parseInt(network[1]);
        this.data = new DataSet[Integer.parseInt(network[2])];
        this.base = Arrays.asList(network).subList(FIXED + 1, network.length);
        Arrays.setAll(
                data,
                step -> isFamily()
                        ? Networks.valueOf(name).data(batch, step)
                        : CudnnCase.valueOf(name).data(batch, step));
    }

    /** What is in effect beside what all ways have. */
    private enum Way {
        PLAIN,
        PLAIN_AGAIN,
        CHECKPOINTS,
        CHECKPOINTS_ON_HOST,
        STATE_ON_HOST,
        BOTH_ON_HOST;

        MemOptConfig.Builder set(MemOptConfig.Builder config) {
            if (this == CHECKPOINTS || this == CHECKPOINTS_ON_HOST || this == BOTH_ON_HOST) {
                config.activationShare(0);
            }
            if (this == CHECKPOINTS_ON_HOST || this == BOTH_ON_HOST) {
                config.offloadCheckpoints(Offload.HOST);
            }
            if (this == STATE_ON_HOST || this == BOTH_ON_HOST) {
                config.offloadUpdaterState(Offload.HOST);
            }
            return config;
        }
    }

    /** How one run went. */
    private record Run(
            long first,
            long device,
            long pinned,
            long sharedAfter,
            double millis,
            boolean same,
            CopyFigures copies,
            String notes) {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("offload.txt")))) {
            String refused = refusedBlock();
            System.out.println(refused);
            file.println(refused);
            for (String network : Arrays.asList(arguments).subList(FIXED, arguments.length)) {
                new CudaOffload(file, folder, Integer.parseInt(arguments[1]), network.split(",", -1)).compare();
            }
        }
        System.exit(0);
    }

    private boolean isFamily() {
        return Arrays.stream(Networks.values()).anyMatch(each -> each.name().equals(name));
    }

    private void compare() {
        print("%s, batch %d, %d steps, %s, %s", name, batch, data.length, base, Nd4jFacts.backend());
        Map<Way, List<Run>> runs = new EnumMap<>(Way.class);
        for (int round = 0; round < rounds; round++) {
            for (Way way : Way.values()) {
                try {
                    runs.computeIfAbsent(way, its -> new ArrayList<>()).add(train(way));
                } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
                    StackTraceElement[] stack = e.getStackTrace();
                    print(
                            "  %s FAILED: %s at %s",
                            way, e, Arrays.asList(stack).subList(0, Math.min(STACK, stack.length)));
                } finally {
                    MemoryHooks.uninstall();
                }
            }
        }
        runs.forEach(this::tell);
    }

    private void tell(Way way, List<Run> its) {
        if (its.isEmpty()) {
            return;
        }
        Run last = its.get(its.size() - 1);
        CopyFigures copies = last.copies();
        print(
                "  %-20s device peak of the first half %9.2f MiB, of the later %9.2f MiB, page-locked %9.2f MiB, left to the process afterwards %s MiB of memory shared with the driver, steps %s ms, bits of plain %s; a step: %.1f copies and %.2f MiB to"
                        + " the host, %.1f and %.2f back, %.1f late, %.3f ms waited",
                way,
                last.first() / MIB,
                last.device() / MIB,
                last.pinned() / MIB,
                its.stream()
                        .map(run -> String.format(Locale.ROOT, "%.1f", run.sharedAfter() / MIB))
                        .toList(),
                its.stream()
                        .map(run -> String.format(Locale.ROOT, "%.3f", run.millis()))
                        .toList(),
                its.stream().map(Run::same).toList(),
                (double) copies.toHostCopies() / data.length,
                copies.toHostBytes() / MIB / data.length,
                (double) copies.toDeviceCopies() / data.length,
                copies.toDeviceBytes() / MIB / data.length,
                (double) copies.late() / data.length,
                copies.waitedNanos() / NANOS_PER_MILLI / data.length);
        print("    %s", last.notes());
    }

    private Run train(Way way) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        MemoryHooks.install();
        PeakWindow window = MemoryHooks.recording().ledger().openPeakWindow();
        long device = MemoryHooks.recording().ledger().reservedBytes(MemorySpace.DEVICE);
        long pinned = MemoryHooks.recording().ledger().reservedBytes(MemorySpace.PINNED);
        Nd4j.getRandom().setSeed(7);
        Model model = create();
        double[] millis = new double[data.length];
        long firstPeak = 0;
        WindowPeaks later;
        String notes;
        CopyFigures before = figures();
        try (MemOpt memopt = MemOpt.attach(model, way.set(config()).build())) {
            for (int i = 0; i < data.length; i++) {
                if (i == data.length / 2) {
                    firstPeak = window.take().reservedBytes(MemorySpace.DEVICE) - device;
                }
                Nd4j.getRandom().setStates(7, i + 1);
                long begun = System.nanoTime();
                Networks.fit(model, data[i]);
                Nd4j.getExecutioner().commit();
                millis[i] = (System.nanoTime() - begun) / NANOS_PER_MILLI;
            }
            later = window.take();
            notes = String.join(
                    " ",
                    memopt.summary().notes().stream()
                            .filter(note -> note.startsWith("Checkpointing") || note.startsWith("Offload"))
                            .toList());
        }
        window.close();
        double[] steady = Arrays.copyOfRange(millis, millis.length / 2, millis.length);
        Arrays.sort(steady);
        return new Run(
                firstPeak,
                later.reservedBytes(MemorySpace.DEVICE) - device,
                later.reservedBytes(MemorySpace.PINNED) - pinned,
                sharedBytes(),
                steady[steady.length / 2],
                isAsFirst(model.params()),
                figures().since(before),
                notes);
    }

    /** What the system calls shared memory of this process, which is where page-locked memory counts. */
    private static long sharedBytes() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith("RssShmem:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A block that no system has is refused, and neither the books nor what is done next know of it. */
    private static String refusedBlock() {
        long before = MemoryHooks.install().ledger().reservedBytes(MemorySpace.PINNED);
        boolean refused = PinnedBlock.of(1L << IMPOSSIBLE).isEmpty();
        long after = MemoryHooks.recording().ledger().reservedBytes(MemorySpace.PINNED);
        double sum = Nd4j.ones(1000).addi(1).sumNumber().doubleValue();
        MemoryHooks.uninstall();
        return "a page-locked block of 2^" + IMPOSSIBLE + " B: refused " + refused + ", in the books "
                + (after - before) + " B, the next operations give " + sum + " of 2000.0";
    }

    private static CopyFigures figures() {
        return DeviceCopies.figures();
    }

    private MemOptConfig.Builder config() {
        MemOptConfig.Builder config = MemOptConfig.builder().history(0);
        if (Nd4jFacts.isCuda()) {
            config.deviceMemory(DeviceMemory.POOL).hostMirrors(HostMirrors.UNTOUCHED);
        }
        if (base.contains("planned")) {
            config.reuse(Reuse.PLANNED);
        }
        if (base.contains("cudnn")) {
            config.convolutions(Convolutions.CUDNN.withCache(cache));
        }
        return config;
    }

    /** With the parameters that the first one began with. */
    private Model create() {
        Model model = isFamily()
                ? Networks.valueOf(name).create(WorkspaceMode.ENABLED)
                : CudnnCase.valueOf(name).create();
        if (initial == null) {
            initial = values(model.params());
        } else {
            INDArray copy = Nd4j.createFromArray(initial);
            model.setParams(copy.reshape(model.params().shape()));
            copy.close();
        }
        return model;
    }

    /** Brought to the host without a copy on the device. */
    private static float[] values(INDArray parameters) {
        return parameters.data().asFloat();
    }

    private boolean isAsFirst(INDArray parameters) {
        if (first == null) {
            first = values(parameters);
            return true;
        }
        return Arrays.equals(first, values(parameters));
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
