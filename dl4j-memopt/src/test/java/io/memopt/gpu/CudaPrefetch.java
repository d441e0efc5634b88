// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.FlowCounters;
import io.memopt.data.PrefetchDataSetIterator;
import io.memopt.data.PrefetchOptions;
import io.memopt.data.PrefetchStatistics;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Batches that come from the host, on a CUDA backend; a program, because the tests' class path has none. For each network and
 * each way to read prints step time, copies, waits for streams, what was hidden, and whether parameters equal those of the
 * first way bit for bit. Needs no more than a minute and a half; a part that would begin later is left out, aloud.
 *
 * <p>Arguments: folder for {@code prefetch.txt}; {@code dry} trains two steps of
 * the small networks only, to try the program where no GPU is.
 */
public final class CudaPrefetch {
    private static final int WARM = 3;
    private static final int DRY_STEPS = 2;
    private static final double MIB = 1 << 20;
    private static final long BUDGET_NANOS = 75_000_000_000L;

    private final long start = System.nanoTime();
    private final PrintWriter out;
    private final boolean dry;

    private CudaPrefetch(PrintWriter out, boolean dry) {
        this.out = out;
        this.dry = dry;
    }

    /** How batches get from the base iterator to the network. */
    private enum Way {
        /** On the training thread. */
        PLAIN,
        ASYNC,
        PREFETCH,
        /** The batches are made by the preparation, on two threads. */
        PREFETCH_DECODING
    }

    private record Case(
            String name,
            Supplier<MultiLayerNetwork> network,
            IntFunction<DataSet> batches,
            int steps,
            MemOptConfig config) {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments.length > 0 ? arguments[0] : ".");
        Files.createDirectories(folder);
        try (PrintWriter file = new PrintWriter(folder.resolve("prefetch.txt").toFile(), StandardCharsets.UTF_8)) {
            new CudaPrefetch(file, Arrays.asList(arguments).contains("dry")).run();
        }
    }

    private void run() {
        print("backend %s, ND4J %s", Nd4jFacts.backend(), Nd4jFacts.version());
        MemOptConfig plain = MemOptConfig.defaults();
        compare(new Case(
                "LeNet batch 256",
                () -> network(Networks.LENET),
                i -> HostBatches.images(i, 10, 256, 784),
                100,
                plain));
        compare(new Case(
                "VGG-like batch 256",
                () -> network(Networks.VGG),
                i -> HostBatches.images(i, 10, 256, 3, 16, 16),
                40,
                plain));
        if (!dry) {
            MemOptConfig pooled = MemOptConfig.builder()
                    .deviceMemory(DeviceMemory.POOL)
                    .hostMirrors(HostMirrors.UNTOUCHED)
                    .build();
            compare(new Case(
                    "VGG-16 batch 32, pool and untouched mirrors",
                    CudaPrefetch::vgg16,
                    i -> HostBatches.images(i, 1000, 32, 3, 224, 224),
                    8,
                    pooled));
        }
    }

    private void compare(Case of) {
        int[] first = null;
        for (Way way : Way.values()) {
            if (System.nanoTime() - start > BUDGET_NANOS) {
                print("%s, %s: LEFT OUT, %d s are over", of.name(), way, BUDGET_NANOS / 1_000_000_000);
                continue;
            }
            try {
                int[] bits = train(of, way);
                first = first == null ? bits : first;
                print("   equals %s bit for bit: %s", Way.PLAIN, Arrays.equals(first, bits));
            } catch (RuntimeException | LinkageError e) {
                print("%s, %s: FAILED %s", of.name(), way, e);
                e.printStackTrace(out);
            }
        }
    }

    private int[] train(Case of, Way way) {
        MultiLayerNetwork network = of.network().get();
        int steps = dry ? DRY_STEPS : of.steps();
        try (MemOpt ignored = MemOpt.attach(network, of.config())) {
            FlowCounters flows = MemoryHooks.recording().ledger().flows();
            DataSetIterator base = new HostBatches(WARM + steps, of.batches());
            switch (way) {
                case PLAIN -> measure(of, way, network, base, flows);
                case ASYNC -> {
                    AsyncDataSetIterator data = new AsyncDataSetIterator(base);
                    measure(of, way, network, data, flows);
                    data.shutdown();
                }
                case PREFETCH -> {
                    try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base, options())) {
                        measure(of, way, network, data, flows);
                    }
                }
                case PREFETCH_DECODING -> {
                    DataSetIterator numbers =
                            new HostBatches(WARM + steps, i -> new DataSet(Nd4j.scalar((float) i), Nd4j.scalar(0f)));
                    try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(
                            numbers,
                            options(),
                            batch ->
                                    of.batches().apply((int) batch.getFeatures().getFloat(0)))) {
                        measure(of, way, network, data, flows);
                    }
                }
            }
            return bits(network.params());
        }
    }

    /** Trains to the end of {@code data}; tells of the steps after the first few. */
    private void measure(Case of, Way way, MultiLayerNetwork network, DataSetIterator data, FlowCounters flows) {
        for (int i = 0; i < WARM; i++) {
            step(network, data);
        }
        Nd4j.getExecutioner().commit();
        long tiny = tiny(flows);
        long waits = flows.synchronizations();
        long copied = flows.transferredBytes(TransferDirection.HOST_TO_DEVICE);
        PrefetchStatistics before = statistics(data);
        long begin = System.nanoTime();
        int steps = 0;
        for (; data.hasNext(); steps++) {
            step(network, data);
        }
        Nd4j.getExecutioner().commit();
        print(
                "%s, %s: %.3f ms a step, %.1f waits for streams, %.1f tiny copies, %.3f MiB booked as copied to the device",
                of.name(),
                way,
                (System.nanoTime() - begin) / 1e6 / steps,
                (flows.synchronizations() - waits) / (double) steps,
                (tiny(flows) - tiny) / (double) steps,
                (flows.transferredBytes(TransferDirection.HOST_TO_DEVICE) - copied) / (steps * MIB));
        PrefetchStatistics told = statistics(data);
        if (before != null && told != null) {
            PrefetchStatistics added = told.since(before);
            print(
                    "   %s; %.1f %% of copy time hidden, copied at %.1f GB/s a thread",
                    added,
                    100 * added.hiddenUploadShare(),
                    added.uploadedBytes() / (double) Math.max(1, added.uploadNanos()));
        }
    }

    /** A step as Deeplearning4j's own loop over an iterator makes it. */
    private static void step(MultiLayerNetwork network, DataSetIterator data) {
        if (!data.hasNext()) {
            throw new IllegalStateException("The iterator ended too early");
        }
        network.fit(data.next());
    }

    private static @Nullable PrefetchStatistics statistics(DataSetIterator data) {
        return data instanceof PrefetchDataSetIterator prefetching ? prefetching.statistics() : null;
    }

    private static PrefetchOptions options() {
        return PrefetchOptions.DEFAULTS.withCloseUsed(true);
    }

    private static long tiny(FlowCounters flows) {
        return Arrays.stream(TransferDirection.values())
                .mapToLong(flows::tinyTransfers)
                .sum();
    }

    private static MultiLayerNetwork network(Networks family) {
        Nd4j.getRandom().setSeed(7);
        return (MultiLayerNetwork) family.create(WorkspaceMode.ENABLED);
    }

    private static MultiLayerNetwork vgg16() {
        Nd4j.getRandom().setSeed(7);
        MultiLayerNetwork network = new MultiLayerNetwork(Vgg16.configuration());
        network.init();
        return network;
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
}
