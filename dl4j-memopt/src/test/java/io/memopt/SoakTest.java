// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.listeners.training.Trackers;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Long and wide runs: totals return to where they began, and nothing of ours grows. Some minutes; {@code -Psoak}. */
@Tag("soak")
class SoakTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long MIB = 1 << 20;

    private MemoryLedger ledger;

    @BeforeEach
    void install() {
        MemoryHooks.uninstall();
        ledger = MemoryHooks.install().ledger();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void tinyNetwork_20000Iterations_nothingGrows() {
        MultiLayerNetwork network = Networks.mlp(10, 8, 3);
        DataSet data = new DataSet(Nd4j.rand(4, 10), Nd4j.zeros(4, 3).putScalar(0, 1, 1));
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (MemOpt memopt = MemOpt.attach(network)) {
            memopt.bindTo(registry);
            train(network, data, 2_000);
            settle();
            long live = ledger.inUseBytes(MemorySpace.HOST);
            long heap = usedHeap();
            int owners = ledger.owners().size();
            int meters = registry.getMeters().size();

            train(network, data, 20_000);

            settle();
            assertThat(ledger.inUseBytes(MemorySpace.HOST)).isBetween(live - 4096, live + 4096);
            assertThat(usedHeap() - heap).as("heap growth").isLessThan(4 * MIB);
            assertThat(ledger.owners().size()).isEqualTo(owners);
            assertThat(registry.getMeters()).hasSize(meters);
            System.out.printf(
                    "soak 20000 iterations: live %d -> %d B, heap %+d KiB, %d owners, %d events, recorder %d KiB%n",
                    live,
                    ledger.inUseBytes(MemorySpace.HOST),
                    (usedHeap() - heap) / 1024,
                    owners,
                    ledger.events(),
                    ledger.memoryBytes() / 1024);
        }
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void inference_on8Threads_returnsToStart() throws Exception {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        INDArray features = Networks.LENET.data(8, 1).getFeatures();
        try (MemOpt memopt = MemOpt.attach(network)) {
            settle();
            long reserved = ledger.reservedBytes(MemorySpace.HOST);
            int accounts = ledger.accounts().size();
            ExecutorService pool = Executors.newFixedThreadPool(8);
            List<Future<?>> calls = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                calls.add(pool.submit(() -> {
                    for (int i = 0; i < 200; i++) {
                        // Layers keep state, so a network serves one call at a time.
                        synchronized (network) {
                            network.output(features).close();
                        }
                    }
                }));
            }
            for (Future<?> call : calls) {
                call.get();
            }
            long busy = ledger.reservedBytes(MemorySpace.HOST);
            assertThat(memopt.summary().threads()).hasSizeGreaterThanOrEqualTo(8);
            pool.shutdown();
            assertThat(pool.awaitTermination(10, TimeUnit.SECONDS)).isTrue();

            assertThat(busy).isGreaterThan(reserved + MIB);
            await(() -> ledger.reservedBytes(MemorySpace.HOST) < reserved + MIB);
            await(() -> ledger.accounts().size() <= accounts + 3);
            System.out.printf(
                    "soak 8 threads: reserved %d -> %d -> %d B%n",
                    reserved, busy, ledger.reservedBytes(MemorySpace.HOST));
        }
    }

    @Test
    void networks_200MadeAndDropped_areForgotten() {
        settle();
        long reserved = ledger.reservedBytes(MemorySpace.HOST);
        int threads = Thread.activeCount();
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        MultiLayerNetwork kept = Networks.mlp(10, 8, 3);
        try (MemOpt memopt = MemOpt.attach(kept)) {
            memopt.bindTo(registry);
            for (int i = 0; i < 200; i++) {
                trainAndDrop(i);
            }
            await(() -> Trackers.current().networks().size() == 1);
            await(() -> ledger.reservedBytes(MemorySpace.HOST) < reserved + MIB);
            assertThat(ledger.owners().size()).as("names are given again").isLessThan(20_000);
            assertThat(Thread.activeCount()).isLessThanOrEqualTo(threads + 2);
            System.out.printf(
                    "soak 200 networks: reserved %d -> %d B, %d owners, %d meters%n",
                    reserved,
                    ledger.reservedBytes(MemorySpace.HOST),
                    ledger.owners().size(),
                    registry.getMeters().size());
        }
    }

    /** Never closed: the garbage collector is all that ends it. */
    private static void trainAndDrop(int seed) {
        MultiLayerNetwork network = Networks.mlp(10, 8, 3);
        MemOpt.attach(network);
        DataSet data = new DataSet(Nd4j.rand(4, 10), Nd4j.zeros(4, 3).putScalar(0, seed % 3, 1));
        train(network, data, 3);
    }

    private static void train(MultiLayerNetwork network, DataSet data, int iterations) {
        for (int i = 1; i <= iterations; i++) {
            network.fit(data);
            if (i % 500 == 0) {
                // ND4J's table of arrays that wait for the collector grows with their number and never shrinks: 17 MB
                // of heap after 20 000 plain iterations. Collecting often keeps it out of our measurement.
                System.gc();
            }
        }
    }

    private void settle() {
        long[] last = {-1};
        await(() -> {
            long now = ledger.reservedBytes(MemorySpace.HOST);
            boolean same = now == last[0];
            last[0] = now;
            return same;
        });
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            System.gc();
            pause();
            if (condition.getAsBoolean()) {
                return;
            }
            assertThat(System.nanoTime()).as("patience of %s", PATIENCE).isLessThan(deadline);
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(200);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
