// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RoomTest {
    private final Counts counts = new Counts(null);

    @Test
    void enter_untilTheFirstIsPrepared_letsOneIn() throws Exception {
        Room room = new Room(8, 100, counts);
        room.enter();
        room.resized(0, 10);

        CompletableFuture<Boolean> second = entering(room);
        awaitWaiting();
        assertThat(second).isNotDone();

        room.prepared();
        assertThat(second.get()).isTrue();
    }

    @Test
    void enter_whenTheLargestWouldNotFit_waitsUntilBytesLeave() throws Exception {
        Room room = new Room(8, 100, counts);
        room.enter();
        room.resized(0, 60);
        room.prepared();

        CompletableFuture<Boolean> second = entering(room);
        awaitWaiting();
        assertThat(second).isNotDone();

        room.leave(60);
        assertThat(second.get()).isTrue();
        assertThat(counts.now(0).aheadBytes()).isZero();
        assertThat(counts.now(0).peakAheadBytes()).isEqualTo(60);
    }

    @Test
    void enter_aBatchLargerThanAllRoom_isLetInAlone() throws Exception {
        Room room = new Room(8, 100, counts);
        room.enter();
        room.resized(0, 500);
        room.prepared();
        room.leave(500);

        assertThat(room.enter()).isTrue();
    }

    @Test
    void enter_beyondTheDepth_waitsUntilItGrows() throws Exception {
        Room room = new Room(2, 100, counts);
        room.enter();
        room.prepared();
        room.enter();

        CompletableFuture<Boolean> third = entering(room);
        awaitWaiting();
        assertThat(third).isNotDone();

        room.depth(3);
        assertThat(third.get()).isTrue();
    }

    @Test
    void close_letsWaitersGo_andNobodyIn() throws Exception {
        Room room = new Room(2, 100, counts);
        room.enter();
        CompletableFuture<Boolean> waiting = entering(room);
        awaitWaiting();

        room.close();

        assertThat(waiting.get()).isFalse();
        assertThat(room.enter()).isFalse();
    }

    private Thread entering;

    private CompletableFuture<Boolean> entering(Room room) {
        CompletableFuture<Boolean> entered = new CompletableFuture<>();
        entering = new Thread(() -> {
            try {
                entered.complete(room.enter());
            } catch (InterruptedException e) {
                entered.completeExceptionally(e);
            }
        });
        entering.setDaemon(true);
        entering.start();
        return entered;
    }

    private void awaitWaiting() throws InterruptedException {
        while (entering.getState() != Thread.State.WAITING) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }
}
