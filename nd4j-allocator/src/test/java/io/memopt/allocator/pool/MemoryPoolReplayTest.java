// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static io.memopt.allocator.pool.StreamEvents.EVERY_STREAM;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Iterations again and again. After a warm-up the pool asks the driver for nothing, and holds hardly more than what is live
 * at the peak. Prints what it took.
 */
class MemoryPoolReplayTest {
    private static final long MIB = 1 << 20;
    /** Sizes are those of a larger batch: at the recorded one, two pages are more than a twentieth of the whole. */
    private static final long SCALE = 64;

    /** What Deeplearning4j asks for: workspace blocks that grow while it learns, spills, arrays that wait for the collector. */
    @Test
    void replay_ofWorkspacesAndGarbage_settlesWithin5Percent() {
        SimulatedDevice device = new SimulatedDevice(32L << 30, 2 * MIB, true);
        MemoryPool pool = new MemoryPool(device, device, PoolOptions.UNLIMITED);
        Deque<Long> garbage = new ArrayDeque<>();
        List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            learn(pool, blocks, i);
            garbage(pool, garbage);
        }
        settles("workspaces and garbage", pool, device, 0, () -> garbage(pool, garbage), 1.05);
    }

    /**
     * A GPU's steps once workspaces have settled: new arrays for each batch and scalars, which the collector frees every few
     * steps, long after the device has passed them. After the first such round the device is not asked again.
     */
    @ParameterizedTest
    @ValueSource(ints = {5, 11, 23})
    void replay_ofBatchesThatWaitForTheCollector_settlesWithin5Percent(int stepsBetweenCollections) {
        SimulatedDevice device = new SimulatedDevice(32L << 30, 2 * MIB, true);
        device.beBusy();
        MemoryPool pool = new MemoryPool(device, device, PoolOptions.UNLIMITED);
        pool.allocate(867 * MIB + 100, EVERY_STREAM);
        Deque<Long> garbage = new ArrayDeque<>();
        int[] step = {0};
        settles(
                "batches, collected every " + stepsBetweenCollections + " steps",
                pool,
                device,
                2 * stepsBetweenCollections,
                () -> {
                    garbage.addLast(pool.allocate(1024 * 784 * 4, EVERY_STREAM));
                    garbage.addLast(pool.allocate(1024 * 10 * 4, EVERY_STREAM));
                    for (int i = 0; i < 22; i++) {
                        garbage.addLast(pool.allocate(4, EVERY_STREAM));
                    }
                    if (++step[0] % stepsBetweenCollections == 0) {
                        garbage.forEach(array -> pool.free(array, EVERY_STREAM));
                        garbage.clear();
                    }
                    device.finishAll(); // a workspace closes, and the thread waits for its streams
                },
                1.05);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lenet", "vgg", "residual_graph"})
    void replay_ofRecordedIterationsWithoutWorkspaces_settlesWithin5Percent(String name) throws IOException {
        settles(name, recorded(name), 50, 1.05);
    }

    /** Sizes at random, from one to a hundred pages: no layout without moves is near the peak, so that slack must grow. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void replay_ofRandomSizes_settles(long seed) {
        settles("random " + seed, largeNet(seed), 200, 1.20);
    }

    private static void settles(String name, List<Step> iteration, int warmUp, double ratio) {
        SimulatedDevice device = new SimulatedDevice(32L << 30, 2 * MIB, true);
        MemoryPool pool = new MemoryPool(device, device, PoolOptions.UNLIMITED);
        settles(name, pool, device, warmUp, () -> play(pool, iteration), ratio);
    }

    private static void settles(
            String name, MemoryPool pool, SimulatedDevice device, int warmUp, Runnable iteration, double ratio) {
        for (int i = 0; i < warmUp; i++) {
            iteration.run();
        }
        long calls = device.calls().total();

        for (int i = 0; i < 20; i++) {
            iteration.run();
        }

        PoolStatistics figures = pool.statistics();
        double reached = (double) figures.reservedPeakBytes() / figures.livePeakBytes();
        System.out.printf(
                Locale.ROOT,
                "%s: live peak %.1f MiB, reserved peak %.1f MiB, ratio %.3f, %d driver calls to warm up, %d after%n",
                name,
                figures.livePeakBytes() / (double) MIB,
                figures.reservedPeakBytes() / (double) MIB,
                reached,
                calls,
                device.calls().total() - calls);
        assertThat(device.calls().total()).as("driver calls after the warm-up").isEqualTo(calls);
        assertThat(reached).isLessThanOrEqualTo(ratio);
    }

    /** Spills of the first iterations, then blocks in the place of those that were too small. */
    private static void learn(MemoryPool pool, List<Long> blocks, int iteration) {
        List<Long> spills = new ArrayList<>();
        for (int i = 0; i < 40 && iteration < 3; i++) {
            spills.add(pool.allocate((3 + 7L * i) * 100_352, EVERY_STREAM));
        }
        spills.forEach(spill -> pool.free(spill, EVERY_STREAM));
        if (iteration < 3) {
            blocks.forEach(block -> pool.free(block, EVERY_STREAM));
            blocks.clear();
            for (long size : new long[] {118, 46, 16}) {
                blocks.add(pool.allocate((size * MIB * (iteration + 2)) / 4 + 1024, EVERY_STREAM));
            }
        }
    }

    /** Two arrays for each batch normalisation and many scalars, dead two iterations later. */
    private static void garbage(MemoryPool pool, Deque<Long> live) {
        int arrays = 0;
        for (int layer = 0; layer < 53; layer++) {
            for (int i = 0; i < 2; i++) {
                live.addLast(pool.allocate((1 + layer % 7) * 802_816L, EVERY_STREAM));
                arrays++;
            }
            for (int i = 0; i < 40; i++) {
                live.addLast(pool.allocate(4 + i, EVERY_STREAM));
                arrays++;
            }
        }
        while (live.size() > 2 * arrays) {
            pool.free(live.removeFirst(), EVERY_STREAM);
        }
    }

    private static void play(MemoryPool pool, List<Step> steps) {
        Map<Integer, Long> live = new HashMap<>();
        for (Step step : steps) {
            if (step.bytes > 0) {
                live.put(step.id, pool.allocate(step.bytes, 1));
            } else {
                pool.free(live.remove(step.id), 1);
            }
        }
        live.values().forEach(address -> pool.free(address, 1));
    }

    /** Columns id, lower, upper, size; frees before allocations of the same moment. */
    private static List<Step> recorded(String name) throws IOException {
        record Moment(long time, Step step) {}
        List<Moment> moments = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(
                        MemoryPoolReplayTest.class.getResourceAsStream("/plan/recorded/" + name + ".csv")),
                StandardCharsets.UTF_8))) {
            int id = 0;
            for (String line : reader.lines().skip(1).toList()) {
                String[] cells = line.split(",", -1);
                moments.add(new Moment(Long.parseLong(cells[1]), new Step(id, SCALE * Long.parseLong(cells[3]))));
                moments.add(new Moment(Long.parseLong(cells[2]), new Step(id, 0)));
                id++;
            }
        }
        return moments.stream()
                .sorted(Comparator.comparingLong(Moment::time).thenComparing(moment -> moment.step.bytes > 0))
                .map(Moment::step)
                .toList();
    }

    /** Activations kept from the forward to the backward pass, scratch within a layer, gradients passed on. */
    private static List<Step> largeNet(long seed) {
        Random random = new Random(seed);
        List<Step> steps = new ArrayList<>();
        List<Integer> kept = new ArrayList<>();
        int id = 0;
        for (int layer = 0; layer < 60; layer++) {
            long activation = (1 + random.nextInt(400)) * 100_352L;
            steps.add(new Step(id, 9 * activation / (1 + random.nextInt(9))));
            steps.add(new Step(id + 1, activation));
            steps.add(new Step(id, 0));
            kept.add(id + 1);
            id += 2;
        }
        int gradient = -1;
        for (int layer = 59; layer >= 0; layer--) {
            long size = (1 + random.nextInt(400)) * 100_352L;
            steps.add(new Step(id, 4 + size / 3));
            steps.add(new Step(id + 1, size));
            steps.add(new Step(id, 0));
            if (gradient >= 0) {
                steps.add(new Step(gradient, 0));
            }
            steps.add(new Step(kept.get(layer), 0));
            gradient = id + 1;
            id += 2;
        }
        steps.add(new Step(gradient, 0));
        return steps;
    }

    /** {@code bytes} 0: the end of {@code id}. */
    private record Step(int id, long bytes) {}
}
