// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.PendingFrees;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What a real run reserves, network and data included: the ledger's books of a new thread, garbage collected after each pass.
 *
 * @param peakBytes fullest moment of all passes
 * @param lastBytes fullest moment of the last pass
 */
record MeasuredRun(long peakBytes, long lastBytes) {
    private static final int MOST_WAITS = 10_000;

    /** Makes a network, then its data, then runs {@code passes} passes. */
    static <D> MeasuredRun of(Supplier<? extends Model> network, Supplier<D> data, int passes, Pass<D> pass) {
        return inNewThread(() -> {
            MemoryLedger ledger = MemoryHooks.install().ledger();
            collect();
            long before = ledger.reservedBytes(MemorySpace.HOST);
            Model model = network.get();
            D batch = data.get();
            collect();
            Highest highest = new Highest(ledger.reservedBytes(MemorySpace.HOST));
            long peak = 0;
            ledger.addSink(highest);
            try {
                for (int i = 0; i < passes; i++) {
                    highest.restart();
                    pass.run(model, batch);
                    peak = Math.max(peak, highest.bytes());
                    collect();
                }
                return new MeasuredRun(peak - before, highest.bytes() - before);
            } finally {
                ledger.removeSink(highest);
                destroyWorkspaces();
            }
        });
    }

    /** One pass of the program under test. */
    interface Pass<D> {
        void run(Model model, D data);
    }

    static <T> T inNewThread(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        new Thread(task, "measured").start();
        try {
            return task.get(20, TimeUnit.MINUTES);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Frees what nobody holds: twice, for arrays that hold arrays; ND4J frees what was found dead on threads of its own. */
    static void collect() {
        for (int round = 0; round < 2; round++) {
            System.gc();
            for (int waits = 0; PendingFrees.count().orElseThrow() > 0; waits++) {
                assertThat(waits).as("waits for deallocator threads").isLessThan(MOST_WAITS);
                pause();
            }
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(2);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void destroyWorkspaces() {
        MemoryWorkspaceManager manager = Nd4j.getWorkspaceManager();
        new ArrayList<>(manager.getAllWorkspacesForCurrentThread()).forEach(manager::destroyWorkspace);
    }

    /** Follows what is reserved. */
    private static final class Highest implements EventSink {
        private long now;
        private long highest;

        Highest(long now) {
            this.now = now;
        }

        synchronized void restart() {
            highest = now;
        }

        synchronized long bytes() {
            return highest;
        }

        @Override
        public synchronized void accept(
                int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
            EventKind kind = EventCode.kind(code);
            if (kind == EventKind.ALLOCATE && EventCode.allocation(code).ownsMemory()) {
                now += extra;
                highest = Math.max(highest, now);
            } else if (kind == EventKind.FREE) {
                now -= bytes;
            }
        }
    }
}
