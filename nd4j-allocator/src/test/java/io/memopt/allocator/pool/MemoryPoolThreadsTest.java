// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;

/** Four threads allocate, each hands what it got to another that frees it, as deallocator threads do. */
class MemoryPoolThreadsTest {
    private static final int THREADS = 4;
    private static final int STEPS = 20_000;
    private static final long UNIT = 512;
    private static final long DEVICE = 512L << 20;

    @Test
    void pool_usedByThreads_neverHandsOutTheSameBytesTwice() throws Exception {
        SimulatedDevice device = new SimulatedDevice(DEVICE, 2 << 20, false);
        MemoryPool pool = new MemoryPool(device, device, PoolOptions.UNLIMITED);
        Owners owners = new Owners();
        List<BlockingQueue<long[]>> mail = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            mail.add(new LinkedBlockingQueue<>());
        }
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<?>> results = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int self = i;
            results.add(threads.submit(() -> work(pool, owners, self, mail)));
        }
        for (Future<?> result : results) {
            result.get();
        }
        threads.shutdown();
        mail.forEach(box -> box.forEach(block -> pool.free(block[0], 0)));

        PoolStatistics figures = pool.statistics();
        assertThat(figures.allocations()).isEqualTo((long) THREADS * STEPS);
        assertThat(figures.liveBytes()).isZero();
        pool.close();
        assertThat(device.usedBytes()).isZero();
    }

    private static void work(MemoryPool pool, Owners owners, int self, List<BlockingQueue<long[]>> mail) {
        Random random = new Random(self);
        for (int step = 0; step < STEPS; step++) {
            long bytes = 1L + random.nextInt(step % 16 == 0 ? 400_000 : 20_000);
            long address = pool.allocate(bytes, self);
            owners.take(address, bytes, self + 1);
            mail.get(random.nextInt(THREADS)).add(new long[] {address, bytes, self + 1});
            long[] block = mail.get(self).poll();
            if (block != null) {
                owners.giveBack(block[0], block[1], (int) block[2]);
                assertThat(pool.free(block[0], self)).isTrue();
            }
        }
        for (long[] block = mail.get(self).poll();
                block != null;
                block = mail.get(self).poll()) {
            owners.giveBack(block[0], block[1], (int) block[2]);
            pool.free(block[0], self);
        }
    }

    /** Who has each unit of memory; addresses are taken modulo a table far larger than what is used. */
    private static final class Owners {
        private final AtomicLongArray units = new AtomicLongArray((int) (4 * DEVICE / UNIT));

        void take(long address, long bytes, int owner) {
            exchange(address, bytes, 0, owner);
        }

        void giveBack(long address, long bytes, int owner) {
            exchange(address, bytes, owner, 0);
        }

        private void exchange(long address, long bytes, long from, long to) {
            for (long at = address / UNIT; at < (address + MemoryPool.rounded(bytes)) / UNIT; at++) {
                int unit = (int) (at % units.length());
                if (!units.compareAndSet(unit, from, to)) {
                    throw new AssertionError("unit " + at + " belongs to " + units.get(unit) + ", expected " + from);
                }
            }
        }
    }
}
