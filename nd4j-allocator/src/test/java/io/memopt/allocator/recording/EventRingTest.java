// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventRingTest {
    private static final int ITERATION = EventCode.of(EventKind.ITERATION);

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void snapshot_whenNotFull_returnsEveryEventUnchanged(long seed) {
        List<MemoryEvent> events = Events.drawn(new Random(seed), 1000, new OwnerTable(), new WorkspaceTable());
        EventRing ring = new EventRing(1024);

        events.forEach(event -> Events.send(event, ring));

        assertThat(ring.snapshot()).isEqualTo(events);
        assertThat(ring.lost()).isZero();
        assertThat(ring.recorded()).isEqualTo(1000);
    }

    @Test
    void snapshot_whenOverrun_keepsTheNewestOldestFirst() {
        EventRing ring = new EventRing(8);

        for (int i = 0; i < 21; i++) {
            ring.accept(ITERATION, i, 1, 0, 0, 0, i, 0);
        }

        assertThat(ring.snapshot())
                .extracting(MemoryEvent::timeNanos)
                .containsExactly(13L, 14L, 15L, 16L, 17L, 18L, 19L, 20L);
        assertThat(ring.lost()).isEqualTo(13);
    }

    @Test
    void memoryBytes_ofDefaultCapacity_isFourMebibytes() {
        assertThat(new EventRing().memoryBytes()).isEqualTo(4L << 20);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 3, 1000, 1 << 25})
    void constructor_whenNoPowerOfTwoInRange_refuses(int capacity) {
        assertThatThrownBy(() -> new EventRing(capacity))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("capacity=" + capacity);
    }

    /** Small rings make laps, thus collisions, common; a torn event would show as numbers that do not belong together. */
    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {11, 12, 13, 14})
    void snapshot_whileWritersTakeTurns_showsOnlyWholeEventsInOrder(long seed) throws Exception {
        Random random = new Random(seed);
        int writers = 2 + random.nextInt(3);
        EventRing ring = new EventRing(1 << random.nextInt(7));
        int each = 50_000;
        CyclicBarrier start = new CyclicBarrier(writers + 1);
        AtomicBoolean done = new AtomicBoolean();
        ExecutorService pool = Executors.newFixedThreadPool(writers + 1);
        try {
            Future<Integer> reader = pool.submit(readUntil(done, ring, start));
            List<Future<?>> running = new ArrayList<>();
            for (int w = 0; w < writers; w++) {
                running.add(pool.submit(writer(w, each, new Random(random.nextLong()), ring, start)));
            }
            for (Future<?> future : running) {
                future.get();
            }
            done.set(true);

            assertThat(reader.get()).isPositive();
        } finally {
            done.set(true);
            pool.shutdownNow();
        }
        assertThat(ring.recorded()).isEqualTo((long) writers * each);
        assertThat(ring.lost()).isEqualTo((long) writers * each - ring.capacity());
        checkWhole(ring.snapshot());
    }

    private static Callable<Void> writer(int w, int each, Random random, EventRing ring, CyclicBarrier start) {
        return () -> {
            start.await();
            for (int i = 0; i < each; i++) {
                long x = random.nextLong() >>> 8;
                synchronized (ring) {
                    ring.accept(ITERATION, i, w, (int) x & 0xffff, 0, 0, x, ~x);
                }
                if (random.nextInt(64) == 0) {
                    LockSupport.parkNanos(1);
                }
            }
            return null;
        };
    }

    private static Callable<Integer> readUntil(AtomicBoolean done, EventRing ring, CyclicBarrier start) {
        return () -> {
            start.await();
            int passes = 0;
            do {
                checkWhole(ring.snapshot());
                passes++;
            } while (!done.get());
            return passes;
        };
    }

    private static void checkWhole(List<MemoryEvent> events) {
        Map<Long, Long> lastOf = new HashMap<>();
        for (MemoryEvent event : events) {
            MemoryEvent.Iteration it = (MemoryEvent.Iteration) event;
            assertThat(it.epoch()).isEqualTo(~it.iteration());
            assertThat(it.owner()).isEqualTo((int) it.iteration() & 0xffff);
            Long before = lastOf.put(it.thread(), it.timeNanos());
            assertThat(before == null || before < it.timeNanos()).isTrue();
        }
    }
}
