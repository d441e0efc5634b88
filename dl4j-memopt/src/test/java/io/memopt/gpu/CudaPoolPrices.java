// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cuda.CudaPools;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.pool.StreamEvents;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.IntFunction;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What an allocation costs on a CUDA backend, by source and by how much else is free, and how often a pool goes to the driver once
 * training has settled; a program, because the tests' class path has none.
 *
 * <p>Argument: folder for {@code pool-prices.txt}.
 */
public final class CudaPoolPrices {
    private static final long MIB = 1 << 20;
    private static final int[] FREE_MIB = {1, 16, 64, 256, 1024};
    private static final int WARM = 60;
    private static final int STEPS = 100;
    private static final int BATCHES = 8;
    private static final int COLLECTION = 20;

    private final PrintWriter out;

    private CudaPoolPrices(PrintWriter out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments.length > 0 ? arguments[0] : "."));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("pool-prices.txt")))) {
            new CudaPoolPrices(file).all();
        }
    }

    private void all() {
        Nd4j.create(1).addi(1); // the backend's context is there, as in training
        for (CudaPools.Source source : CudaPools.Source.values()) {
            prices(source);
        }
        driver();
        for (Networks family : Networks.values()) {
            for (boolean fresh : new boolean[] {false, true}) {
                try {
                    steady(family, family == Networks.LENET ? 1024 : 32, fresh);
                } catch (RuntimeException | LinkageError e) {
                    print("FAILED %s: %s", family, e);
                }
            }
        }
    }

    private void prices(CudaPools.Source source) {
        try (MemoryPool pool = CudaPools.device(0, source, PoolOptions.UNLIMITED)) {
            pool.free(pool.allocate(MIB, 1), 1);
            print(
                    "1 MiB from a pool on %s, one stream: %d ns",
                    pool.name(), best(() -> pool.free(pool.allocate(MIB, 1), 1), 200_000));
        }
        for (int free : FREE_MIB) {
            try (MemoryPool pool = CudaPools.device(0, source, PoolOptions.UNLIMITED)) {
                pool.free(pool.allocate(free * MIB, StreamEvents.EVERY_STREAM), StreamEvents.EVERY_STREAM);
                Runnable pair =
                        () -> pool.free(pool.allocate(MIB, StreamEvents.EVERY_STREAM), StreamEvents.EVERY_STREAM);
                best(pair, 2000);
                PoolStatistics before = pool.statistics();
                long nanos = best(pair, 20_000);
                PoolStatistics after = pool.statistics();
                print(
                        "1 MiB from a pool on %s, any stream, %d MiB free: %d ns, %.4f waits each, %d driver calls",
                        pool.name(),
                        free,
                        nanos,
                        (after.waits() - before.waits()) / (double) (after.allocations() - before.allocations()),
                        after.calls().total() - before.calls().total());
            }
        }
    }

    private void driver() {
        Pointer address = new Pointer();
        long plain = best(
                () -> {
                    cudart.cudaMalloc(address, MIB);
                    cudart.cudaFree(address);
                },
                1000);
        CUstream_st stream = new CUstream_st();
        cudart.cudaStreamCreate(stream);
        long ordered = best(
                () -> {
                    cudart.cudaMallocAsync(address, MIB, stream);
                    cudart.cudaFreeAsync(address, stream);
                },
                5000);
        cudart.cudaStreamSynchronize(stream);
        print("1 MiB from cudaMalloc: %d ns, from cudaMallocAsync: %d ns", plain, ordered);
    }

    private static long best(Runnable work, int repeats) {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < repeats; i++) {
                work.run();
            }
            best = Math.min(best, (System.nanoTime() - start) / repeats);
        }
        return best;
    }

    /** {@code fresh}: each batch is in new arrays, which a collection frees every few steps; else a few batches take turns. */
    private void steady(Networks family, int batch, boolean fresh) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .deviceMemory(DeviceMemory.POOL)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            DataSet[] kept = new DataSet[BATCHES];
            for (int i = 0; i < BATCHES; i++) {
                kept[i] = family.data(batch, i);
            }
            IntFunction<DataSet> data = i -> fresh ? family.data(batch, i) : kept[i % BATCHES];
            for (int i = 0; i < WARM; i++) {
                step(model, data, i);
            }
            PoolStatistics warm = memopt.devicePool();
            int asked = 0;
            long most = 0;
            for (int i = 0; i < STEPS; i++) {
                long calls = memopt.devicePool().calls().total();
                step(model, data, i);
                long added = memopt.devicePool().calls().total() - calls;
                asked += added > 0 ? 1 : 0;
                most = Math.max(most, added);
            }
            PoolStatistics end = memopt.devicePool();
            print(
                    "%s b%d, %s: %d of %d steps after the warm-up went to the driver, at most %d calls; %.1f allocations a step, %d"
                            + " waits; reserved peak %.1f MiB over live peak %.1f MiB: %.3f",
                    family,
                    batch,
                    fresh ? "new arrays for each batch" : "batches that stay",
                    asked,
                    STEPS,
                    most,
                    (end.allocations() - warm.allocations()) / (double) STEPS,
                    end.waits(),
                    end.reservedPeakBytes() / (double) MIB,
                    end.livePeakBytes() / (double) MIB,
                    end.reservedPeakBytes() / (double) end.livePeakBytes());
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private static void step(Model model, IntFunction<DataSet> data, int number) {
        Networks.fit(model, data.apply(number));
        Nd4j.getExecutioner().commit();
        if (number % COLLECTION == COLLECTION - 1) {
            System.gc();
        }
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
