// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.DeferredSink;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What threads write down reaches books and sinks whole, in order, and before anyone reads. */
@Timeout(60)
class JournalsTest {
    private static final MemorySpace HOST = MemorySpace.HOST;
    private static final int THREADS = 4;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @Test
    void deferredSink_hearsLate_butBeforeItIsRead() {
        EventRing ring = new EventRing(1 << 12);
        AtomicInteger told = new AtomicInteger();
        ledger.addSink(new Deferred(told, ring));

        ledger.allocated(HOST, 1, 0x1000, 100, 100);

        assertThat(told).hasValue(0);
        assertThat(ledger.inUseBytes(HOST)).isEqualTo(100);
        assertThat(told).hasValue(1);
        assertThat(ring.snapshot()).hasSize(1);
    }

    @Test
    void promptSink_hearsAtOnce_onTheActingThread_andAfterItIsGoneNobodyDoes() throws Exception {
        List<Thread> heardOn = new ArrayList<>();
        EventSink prompt = (code, time, thread, owner, workspace, address, bytes, extra) -> {
            assertThat(thread).isEqualTo(Thread.currentThread().getId());
            heardOn.add(Thread.currentThread());
        };
        AtomicInteger told = new AtomicInteger();
        ledger.addSink(new Deferred(told, new EventRing(16)));
        ledger.addSink(prompt);

        ledger.allocated(HOST, 1, 0x1000, 100, 100);
        Thread other = new Thread(() -> ledger.freed(1));
        other.start();
        other.join();
        ledger.removeSink(prompt);
        int before = told.get();
        ledger.allocated(HOST, 2, 0x2000, 100, 100);

        assertThat(heardOn).containsExactly(Thread.currentThread(), other);
        assertThat(before).isEqualTo(2);
        assertThat(told).hasValue(before);
    }

    @Test
    void removeSink_handsOverWhatHappenedBefore() {
        EventRing ring = new EventRing(1 << 12);
        ledger.addSink(ring);
        ledger.allocated(HOST, 1, 0x1000, 100, 100);

        ledger.removeSink(ring);
        ledger.freed(1);

        assertThat(ring.snapshot()).extracting(MemoryEvent::kind).containsExactly(EventKind.ALLOCATE);
    }

    @Test
    void addSink_doesNotHandOverWhatHappenedBefore() {
        ledger.allocated(HOST, 1, 0x1000, 100, 100);
        EventRing ring = new EventRing(1 << 12);

        ledger.addSink(ring);

        assertThat(ring.snapshot()).isEmpty();
    }

    @Test
    void manyMoreEventsThanAJournalHolds_areAllBooked_inOrder() {
        EventRing ring = new EventRing(1 << 14);
        ledger.addSink(ring);
        WorkspaceAccount account = ledger.openAccount("WS", Thread.currentThread(), false);
        int arrays = 5 * Journal.CAPACITY + 3;

        for (int i = 1; i <= arrays; i++) {
            ledger.arrayAllocated(account, HOST, i, 10, 16);
        }

        assertThat(ledger.inUseBytes(HOST)).isEqualTo(16L * arrays);
        assertThat(ring.snapshot())
                .extracting(event -> ((MemoryEvent.Allocate) event).address())
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, arrays).boxed().toList());
    }

    /** What one thread allocates another frees, and the address comes again at once: any disorder leaves bytes behind. */
    @Test
    void addressesThatGoFromThreadToThread_leaveNothing_andKeepTheOrderOfEachThread() throws Exception {
        EventRing ring = new EventRing(1 << 17);
        ledger.addSink(ring);
        int each = 10_000;
        BlockingQueue<Long> free = new ArrayBlockingQueue<>(THREADS);
        BlockingQueue<Long> used = new ArrayBlockingQueue<>(THREADS);
        for (long key = 1; key <= THREADS; key++) {
            free.add(key);
        }
        inThreads(thread -> {
            for (int i = 0; i < each; i++) {
                if (thread % 2 == 0) {
                    long key = free.take();
                    ledger.allocated(HOST, key, 0x1000 * key, 100, 100);
                    used.put(key);
                } else {
                    long key = used.take();
                    ledger.freed(key);
                    free.put(key);
                }
                if (i % 100 == 0) {
                    assertThat(ledger.inUseBytes(HOST)).isBetween(0L, 100L * THREADS);
                }
            }
        });

        assertThat(ledger.inUseBytes(HOST)).isZero();
        assertThat(ledger.reservedPeak().bytes()).isBetween(100L, 100L * THREADS);
        List<MemoryEvent> events = ring.snapshot();
        assertThat(events).hasSize(2 * each * THREADS / 2);
        Map<Long, List<MemoryEvent>> byThread = events.stream().collect(Collectors.groupingBy(MemoryEvent::thread));
        assertThat(byThread).hasSize(THREADS);
        assertThat(byThread.values())
                .allSatisfy(its ->
                        assertThat(its).extracting(MemoryEvent::timeNanos).isSorted());
    }

    @Test
    void threadsThatEnd_giveTheirJournalsBack() throws Exception {
        ledger.freed(1);
        long one = ledger.memoryBytes();
        for (int i = 0; i < 50; i++) {
            int key = i + 1;
            Thread thread = new Thread(() -> ledger.allocated(HOST, key, key, 1, 1));
            thread.start();
            thread.join();
        }

        assertThat(ledger.reservedBytes(HOST)).isEqualTo(50);
        assertThat(ledger.memoryBytes() - one).isLessThan(50 * 400 + 2 * Journal.MEMORY_BYTES);
    }

    @Test
    void threadThatTurnsToAnotherLedgerAndBack_keepsOneJournalInEach() {
        MemoryLedger other = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);
        ledger.freed(1);
        long before = ledger.memoryBytes();

        for (int i = 1; i <= 100; i++) {
            ledger.allocated(HOST, i, i, 1, 1);
            other.allocated(HOST, i, i, 2, 2);
        }

        assertThat(ledger.reservedBytes(HOST)).isEqualTo(100);
        assertThat(other.reservedBytes(HOST)).isEqualTo(200);
        assertThat(ledger.memoryBytes() - before).isLessThan(Journal.MEMORY_BYTES + 100 * 400);
    }

    /** Hears with a ring, and counts what it is told. */
    private record Deferred(AtomicInteger told, EventRing ring) implements DeferredSink {
        @Override
        public void heardFrom(EventSource source) {
            ring.heardFrom(source);
        }

        @Override
        public void accept(
                int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
            assertThat(EventCode.isValid(code)).isTrue();
            told.incrementAndGet();
            ring.accept(code, time, thread, owner, workspace, address, bytes, extra);
        }
    }

    private interface Work {
        void of(int thread) throws Exception;
    }

    private static void inThreads(Work work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        CyclicBarrier start = new CyclicBarrier(THREADS);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int thread = t;
                running.add(pool.submit(() -> {
                    start.await();
                    work.of(thread);
                    return null;
                }));
            }
            for (Future<?> future : running) {
                future.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }
}
