// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random traffic on several streams against {@link PoolModel}, by small pages also in large extents. A failure names its seed.
 */
class MemoryPoolPropertyTest {
    private static final long MIB = 1 << 20;
    private static final int STEPS = 1500;

    @ParameterizedTest(name = "seed {0}, pages {1}, busy {2}, retain {3} MiB, pages of {4} KiB")
    @CsvSource({
        "1, true, false, -1, 2048",
        "2, true, true, -1, 2048",
        "3, true, true, 8, 2048",
        "4, false, false, -1, 2048",
        "5, false, true, -1, 2048",
        "6, false, true, 8, 2048",
        "7, true, true, -1, 2048",
        "8, true, true, 0, 2048",
        "9, false, true, 0, 2048",
        "10, true, true, -1, 2048",
        "11, true, true, -1, 2048",
        "12, true, true, -1, 2048",
        "13, true, true, -1, 64",
        "14, true, true, -1, 64",
        "15, true, false, -1, 64"
    })
    void pool_underRandomTraffic_keepsToTheModel(long seed, boolean pages, boolean busy, long retain, long pageKib) {
        SimulatedDevice device = new SimulatedDevice(64 * MIB, pageKib << 10, pages);
        if (busy) {
            device.beBusy();
        }
        PoolModel model = new PoolModel(device);
        PoolOptions options = retain < 0 ? PoolOptions.UNLIMITED : PoolOptions.UNLIMITED.withRetained(retain * MIB);
        MemoryPool pool = new MemoryPool(model, model, options);
        Random random = new Random(seed);
        List<Long> blocks = new ArrayList<>();
        int refused = 0;

        for (int step = 0; step < STEPS; step++) {
            long stream = random.nextInt(4);
            if (random.nextInt(100) < 55) {
                long bytes = size(random);
                try {
                    long address = pool.allocate(bytes, stream);
                    model.allocated(address, bytes, stream);
                    blocks.add(address);
                } catch (PoolExhaustedException e) {
                    refused++;
                    free(pool, model, blocks, random, stream);
                }
            } else {
                free(pool, model, blocks, random, stream);
            }
            if (random.nextInt(10) == 0) {
                device.finishAll();
            }
            if (random.nextInt(400) == 0) {
                pool.trim();
            }
            PoolStatistics now = pool.statistics();
            assertThat(now.liveBytes()).as("live, step %d", step).isEqualTo(model.liveBytes());
            assertThat(now.reservedBytes()).as("reserved, step %d", step).isEqualTo(device.usedBytes());
            assertThat(now.liveBlocks()).isEqualTo(blocks.size());
            assertThat(now.liveBytes() + now.heldBytes()).isLessThanOrEqualTo(now.reservedBytes());
        }

        assertThat(refused)
                .as("the device was never full: the test is too tame")
                .isPositive();
        while (!blocks.isEmpty()) {
            free(pool, model, blocks, random, 1);
        }
        pool.trim();
        assertThat(pool.statistics().reservedBytes()).isZero();
        assertThat(device.usedBytes()).isZero();
        assertThat(device.pendingEvents()).isZero();
    }

    private static void free(MemoryPool pool, PoolModel model, List<Long> blocks, Random random, long stream) {
        if (!blocks.isEmpty()) {
            long address = blocks.remove(random.nextInt(blocks.size()));
            model.freed(address, stream);
            assertThat(pool.free(address, stream)).isTrue();
        }
    }

    /** Many small, some large. */
    private static long size(Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> 1 + random.nextInt(4000);
            case 1 -> 1 + random.nextInt(100_000);
            case 2 -> 1 + random.nextInt((int) MIB);
            default -> 1 + random.nextInt((int) (9 * MIB));
        };
    }
}
