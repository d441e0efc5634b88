// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class DecisionPeakTest {
    private static final int FLOATS = 4096;
    private static final long BYTES = (long) FLOATS * Float.BYTES;
    private static final long HELD = 100;
    private static final int PASSES = 20;
    private static final int SCALARS = 500;

    private final MemoryLedger ledger = MemoryHooks.install().ledger();

    /** On a machine with a large heap they wait for longer than a decision takes. */
    @Test
    void scalarsThatWaitForTheCollector_areNotCounted() {
        List<List<INDArray>> garbage = new ArrayList<>();

        long bytes = decided(() -> garbage.add(
                IntStream.range(0, SCALARS).mapToObj(i -> Nd4j.scalar(1f)).toList()));

        assertThat(bytes).isEqualTo(HELD + 2 * BYTES);
        assertThat(garbage).hasSize(PASSES);
    }

    @Test
    void minibatchesThatAnotherThreadPrepares_areNotCounted() {
        List<INDArray> prepared = new ArrayList<>();

        long bytes = decided(() -> prepared.add(
                CompletableFuture.supplyAsync(() -> Nd4j.create(FLOATS)).join()));

        assertThat(bytes).isEqualTo(HELD + 2 * BYTES);
        assertThat(prepared).hasSize(PASSES);
    }

    /** As an arena of another network that is given back: it was not counted, so that nothing is taken off. */
    @Test
    void whatOthersHeldBefore_isNotTakenOffWhenItIsFreed() {
        INDArray theirs = Nd4j.create(FLOATS);

        long bytes = decided(() -> {
            if (theirs.closeable()) {
                theirs.close();
            }
        });

        assertThat(bytes).isEqualTo(HELD + 2 * BYTES);
    }

    /** What a decision takes that holds one array and has another one in each pass, with {@code beside} done in each, too. */
    private long decided(Runnable beside) {
        try (DecisionPeak peak = new DecisionPeak(ledger, MemorySpace.HOST, HELD);
                INDArray own = Nd4j.create(FLOATS)) {
            for (int i = 0; i < PASSES; i++) {
                Nd4j.create(FLOATS).close();
                beside.run();
            }
            assertThat(own.length()).isEqualTo(FLOATS);
            return peak.bytes();
        }
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }
}
