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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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
        long before = bookkeepers();
        ledger.postInBackground();
        ledger.postInBackground();
        assertThat(bookkeepers()).isEqualTo(before + 1);

        ledger.stopPostingInBackground();

        while (bookkeepers() > before) {
            TimeUnit.MILLISECONDS.sleep(1);
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

    private static long bookkeepers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("memopt-bookkeeper"))
                .count();
    }
}
