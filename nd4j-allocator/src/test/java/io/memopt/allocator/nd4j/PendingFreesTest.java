// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class PendingFreesTest {
    private static final int ARRAYS = 2000;
    private static final long BYTES = ARRAYS * 4096L;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    @Timeout(60)
    void none_afterACollection_meansThatDroppedArraysAreFreed() throws InterruptedException {
        MemoryLedger ledger = MemoryHooks.install().ledger();
        long before = held(ledger);
        INDArray[] arrays = new INDArray[ARRAYS];
        Arrays.setAll(arrays, i -> Nd4j.create(DataType.FLOAT, 1024));
        assertThat(held(ledger) - before).isGreaterThanOrEqualTo(BYTES);

        Arrays.fill(arrays, null);
        System.gc();
        while (PendingFrees.count().orElseThrow() > 0) {
            Thread.sleep(1);
        }

        assertThat(held(ledger) - before).isLessThan(BYTES / 100);
    }

    private static long held(MemoryLedger ledger) {
        return ledger.reservedBytes(AllocationKind.DETACHED, MemorySpace.HOST);
    }
}
