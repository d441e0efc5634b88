// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/** The ledger against counts that do not pass through it, at every iteration. */
class TruthTest {
    private static final int ITERATIONS = 12;

    /** ND4J adds this to every block, see Nd4jWorkspace.SAFETY_OFFSET. */
    private static final long SAFETY_OFFSET = 1024;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    /** The native library counts its own buffers; workspaces know their own sizes. */
    @ParameterizedTest
    @EnumSource(Networks.class)
    void reservedBytes_everyIteration_equalNd4jsOwnCounts(Networks family) throws InterruptedException {
        MemoryHooks.uninstall();
        long nativeStart = settledNativeBytes();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        Model model = family.create(WorkspaceMode.ENABLED);
        List<Double> errors = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model)) {
            assertThat(memopt.isActive()).isTrue();
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, family.data(8, i));

                // Deallocator threads may be at work: both counts are of one moment when neither moved meanwhile.
                long detached;
                long ours;
                do {
                    Thread.sleep(20);
                    ours = ourBytes(ledger);
                    detached = Nd4j.getEnvironment().getDeviceCouner(0) - nativeStart;
                    Thread.sleep(20);
                } while (ours != ourBytes(ledger)
                        || detached != Nd4j.getEnvironment().getDeviceCouner(0) - nativeStart);
                long independent = detached + workspaceBytes();
                errors.add(Math.abs(ours - independent) / (double) independent);
                assertThat(ours).as("iteration %d", i).isCloseTo(independent, Percentage.withPercentage(2));
            }
        }
        System.out.printf(
                "truth error %s: at most %.4f %%%n",
                family, 100 * errors.stream().mapToDouble(e -> e).max().orElse(0));
    }

    /** What earlier tests left behind must not be freed while we count. */
    private static long settledNativeBytes() throws InterruptedException {
        long before;
        long now = Nd4j.getEnvironment().getDeviceCouner(0);
        do {
            before = now;
            System.gc();
            Thread.sleep(300);
            now = Nd4j.getEnvironment().getDeviceCouner(0);
        } while (now != before);
        return now;
    }

    private static long ourBytes(MemoryLedger ledger) {
        return ledger.reservedBytes(MemorySpace.HOST) - ledger.reservedBytes(AllocationKind.SPILL, MemorySpace.HOST);
    }

    private static long workspaceBytes() {
        long bytes = 0;
        for (MemoryWorkspace workspace : Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread()) {
            long size = workspace.getCurrentSize();
            bytes += size == 0 ? 0 : size + SAFETY_OFFSET;
        }
        return bytes;
    }
}
