// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Heights and loads of arenas, against sums that are taken array by array. */
class ArenaBookTest {
    private static final long THREAD = 7;
    private static final int SCOPE = 3;

    private final ArenaBook book = new ArenaBook(true);
    private final LiveSet live = new LiveSet(0, new LiveSet.Listener() {
        @Override
        public void began(int slot) {
            book.born(live(), slot, true, false);
        }

        @Override
        public void lastUsed(int slot, long lastUseNanos, long span) {
            book.lastUsed(slot, span);
        }

        @Override
        public void ended(int slot, long timeNanos, long thread) {
            book.ended(slot);
        }
    });
    private long now;

    private LiveSet live() {
        return live;
    }

    private record Life(long birth, long end, long bytes) {}

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void height_ofRandomScopes_isBetweenTheLoadAndTheSum(long seed) {
        Random random = new Random(seed);
        long load = 0;
        long sum = 0;
        for (int scope = 0; scope < 20; scope++) {
            List<Life> lives = randomScope(random);
            load = Math.max(load, loadOf(lives));
            sum = Math.max(sum, lives.stream().mapToLong(Life::bytes).sum());
        }
        book.close();

        ArenaBook.Height arena = book.heights().get(0);
        assertThat(book.heights()).hasSize(1);
        assertThat(arena.thread()).isEqualTo(THREAD);
        assertThat(arena.loadBytes()).as("seed %d", seed).isEqualTo(load);
        assertThat(arena.requestedBytes()).isEqualTo(load);
        assertThat(arena.heightBytes()).as("seed %d", seed).isBetween(load, sum);
        assertThat((double) arena.heightBytes() / load).isLessThan(1.1);
    }

    @Test
    void stretchWithoutUses_isLeftOut_whereUsesAreAskedFor() {
        allocate(0, 1 << 20);
        release(1 << 20);
        allocate(0, 64);
        use(0, 1);
        release(64);
        book.close();

        assertThat(book.heights().get(0).heightBytes()).isEqualTo(64);
        assertThat(book.arraysWithUse()).isOne();
        assertThat(book.arraysWithoutUse()).isOne();
    }

    @Test
    void moreDifferentStretchesThanAreRemembered_theHighestLoadStillCounts() {
        for (int i = 1; i <= 400; i++) {
            allocate(0, 64L * i);
            use(0, 1);
            release(64L * i);
        }
        book.close();

        assertThat(book.heights().get(0).heightBytes()).isEqualTo(64L * 400);
    }

    private List<Life> randomScope(Random random) {
        int count = 1 + random.nextInt(60);
        long[] bytes = random.longs(count, 1, 200).map(blocks -> 32 * blocks).toArray();
        List<Life> lives = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < count; i++) {
            allocate(i, bytes[i]);
            sum += bytes[i];
        }
        for (int i = count - 1; i >= 0; i--) {
            int span = random.nextInt(count - i + 1);
            boolean told = random.nextInt(10) > 0;
            if (told) {
                use(i, span);
            }
            lives.add(new Life(i, told ? i + Math.max(1, span) : count, bytes[i]));
        }
        release(sum);
        return lives;
    }

    private static long loadOf(List<Life> lives) {
        return lives.stream()
                .mapToLong(at -> lives.stream()
                        .filter(life -> life.birth <= at.birth && at.birth < life.end)
                        .mapToLong(Life::bytes)
                        .sum())
                .max()
                .orElse(0);
    }

    private void allocate(int number, long bytes) {
        event(EventKind.ALLOCATE, number, bytes, bytes);
    }

    private void use(int number, long span) {
        event(EventKind.LAST_USE, number, 0, span);
    }

    private void event(EventKind kind, int number, long bytes, long extra) {
        int code = EventCode.of(kind, AllocationKind.WORKSPACE_ARRAY, MemorySpace.HOST);
        live.accept(code, ++now, THREAD, 0, SCOPE, 4096L + ((long) number << 20), bytes, extra);
    }

    private void release(long bytes) {
        live.accept(EventCode.of(EventKind.SCOPE_RELEASE), ++now, THREAD, 0, SCOPE, 0, bytes, 0);
    }
}
