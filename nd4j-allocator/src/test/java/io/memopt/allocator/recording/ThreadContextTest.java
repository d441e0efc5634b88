// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class ThreadContextTest {
    private static final int THREADS = 4;
    private static final int CALLS = 100_000;

    /** All ask at the same time, so that each finds the others' context in the common place again and again. */
    @Test
    void current_ofThreadsThatTakeTurns_isEachThreadsOwn() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            Callable<Set<ThreadContext>> calls = () -> {
                Set<ThreadContext> seen = new HashSet<>();
                long mine = Thread.currentThread().getId();
                for (int i = 0; i < CALLS; i++) {
                    ThreadContext context = ThreadContext.current();
                    assertThat(context.threadId()).isEqualTo(mine);
                    seen.add(context);
                }
                return seen;
            };
            List<Future<Set<ThreadContext>>> all = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                all.add(threads.submit(calls));
            }
            for (Future<Set<ThreadContext>> seen : all) {
                assertThat(seen.get()).hasSize(1);
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
