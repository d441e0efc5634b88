// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.DeferredSink;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BookkeeperTest {
    private static final long MILLI = 1_000_000;
    private static final int KEY = 4096;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @AfterEach
    void stop() {
        ledger.stopPostingInBackground();
    }

    @Test
    void entries_arePostedThoughNobodyAsks() throws InterruptedException {
        CountDownLatch told = new CountDownLatch(1);
        ledger.addSink(new Counting(told));
        ledger.postInBackground();

        ledger.allocated(MemorySpace.HOST, KEY, KEY, 1000, 1000);

        told.await();
    }

    @Test
    void thread_endsWhenToldTo_andIsOnlyOne() throws InterruptedException {
        // Those of tests before may be about to end.
        Set<Thread> others = bookkeepers();
        ledger.postInBackground();
        ledger.postInBackground();
        Set<Thread> mine = bookkeepers();
        mine.removeAll(others);
        assertThat(mine).hasSize(1);

        ledger.stopPostingInBackground();

        for (Thread thread : mine) {
            thread.join();
        }
    }

    @Test
    void pause_followsHowFullJournalsAre_withinBounds() {
        assertThat(Bookkeeper.next(8 * MILLI, Journal.CAPACITY)).isEqualTo(4 * MILLI);
        assertThat(Bookkeeper.next(8 * MILLI, Journal.CAPACITY / 8)).isEqualTo(8 * MILLI);
        assertThat(Bookkeeper.next(8 * MILLI, 0)).isEqualTo(16 * MILLI);
        assertThat(Bookkeeper.next(MILLI, Journal.CAPACITY)).isEqualTo(MILLI);
        assertThat(Bookkeeper.next(80 * MILLI, 1)).isEqualTo(100 * MILLI);
    }

    private record Counting(CountDownLatch told) implements DeferredSink {
        @Override
        public void accept(
                int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
            told.countDown();
        }

        @Override
        public void heardFrom(EventSource source) {}
    }

    private static Set<Thread> bookkeepers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("memopt-bookkeeper"))
                .collect(Collectors.toSet());
    }
}
