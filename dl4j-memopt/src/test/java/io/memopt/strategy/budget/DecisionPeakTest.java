// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class DecisionPeakTest {
    private static final int FLOATS = 4096;
    private static final long BYTES = (long) FLOATS * Float.BYTES;
    private static final int PASSES = 20;
    private static final int SCALARS = 500;

    /** On a machine with a large heap they wait for longer than a decision takes. */
    @Test
    void scalarsThatWaitForTheCollector_areNotCounted() {
        MemoryLedger ledger = MemoryHooks.install().ledger();
        INDArray theirs = Nd4j.create(FLOATS);
        long others = ledger.reservedBytes(MemorySpace.HOST);
        try (PeakWindow window = ledger.openPeakWindow();
                INDArray own = Nd4j.create(FLOATS)) {
            DecisionPeak peak = new DecisionPeak(ledger, window, MemorySpace.HOST, others);

            List<List<INDArray>> garbage = IntStream.range(0, PASSES)
                    .mapToObj(pass -> {
                        Nd4j.create(FLOATS).close();
                        List<INDArray> left = IntStream.range(0, SCALARS)
                                .mapToObj(i -> Nd4j.scalar(1f))
                                .toList();
                        peak.extraPass("network", ExtraPass.REHEARSED);
                        return left;
                    })
                    .toList();

            assertThat(peak.bytes()).isBetween(2 * BYTES, 2 * BYTES + SCALARS * Float.BYTES);
            assertThat(garbage).hasSize(PASSES);
            assertThat(theirs.length() + own.length()).isEqualTo(2 * FLOATS);
        }
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }
}
