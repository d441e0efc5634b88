// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class GarbageCollectionWatchTest {
    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @Test
    void start_whenCollectionIsForced_countsIt() throws InterruptedException {
        CountDownLatch heard = new CountDownLatch(1);
        try (GarbageCollectionWatch watch = GarbageCollectionWatch.start(ledger)) {
            watch.addListener((forced, nanos) -> {
                if (forced) {
                    heard.countDown();
                }
            });
            System.gc();

            assertThat(heard.await(20, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(ledger.flows().collections(true)).isPositive();
    }

    @Test
    void collected_byTheParallelCollector_countsOneCallOnce() {
        try (GarbageCollectionWatch watch = new GarbageCollectionWatch(ledger)) {
            long[] nanos = new long[1];
            watch.addListener((forced, duration) -> nanos[0] = forced ? duration : nanos[0]);
            watch.collected("PS Scavenge", "end of minor GC", "System.gc()", 3);
            watch.collected("PS MarkSweep", "end of major GC", "System.gc()", 20);

            assertThat(nanos[0]).isEqualTo(23_000_000);
        }
    }

    @Test
    void collected_ofPauseOfConcurrentCycle_isLeftToTheCycle() {
        try (GarbageCollectionWatch watch = new GarbageCollectionWatch(ledger)) {
            watch.collected("ZGC Pauses", "end of GC pause", "System.gc()", 1);
            watch.collected("ZGC Cycles", "end of GC cycle", "System.gc()", 30);
            watch.collected("G1 Young Generation", "end of minor GC", "G1 Evacuation Pause", 2);
        }
        assertThat(ledger.flows().collections(true)).isEqualTo(1);
        assertThat(ledger.flows().collectionNanos(true)).isEqualTo(30_000_000);
        assertThat(ledger.flows().collections(false)).isEqualTo(1);
    }
}
