// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

class MemoryHooksTest {
    private static final long MIB = 1 << 20;

    private MemoryLedger ledger;

    @BeforeEach
    void install() {
        ledger = MemoryHooks.install().ledger();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void decoyOnClassPath_nd4jStarts_withOurManager() {
        // ND4J was started by the first test of this JVM without any call of ours: only the service file did it.
        assertThat(System.getProperty("workspacemanager")).isEqualTo(TrackingCpuWorkspaceManager.class.getName());
        assertThat(Nd4j.getWorkspaceManager()).isInstanceOf(TrackingCpuWorkspaceManager.class);
        assertThat(OpsFront.interposerOf(NativeOpsHolder.getInstance().getDeviceNativeOps()))
                .isNotNull();
    }

    @Test
    void detachedArray_createdAndClosed_isLiveInBetween() {
        long before = ledger.inUseBytes(MemorySpace.HOST);

        INDArray array = Nd4j.createUninitialized(DataType.FLOAT, 1 << 18);
        LiveAllocation live = ledger.find(BufferKeys.keyOf(array));

        assertThat(ledger.inUseBytes(MemorySpace.HOST) - before).isEqualTo(MIB);
        assertThat(live.kind()).isEqualTo(AllocationKind.DETACHED);
        assertThat(live.requestedBytes()).isEqualTo(MIB);
        assertThat(live.address()).isEqualTo(array.data().address());
        assertThat(live.site()).isNotEmpty();

        array.close();
        assertThat(ledger.inUseBytes(MemorySpace.HOST)).isEqualTo(before);
    }

    @Test
    void viewOfArray_isNotCounted_butKnownToItsParent() {
        INDArray parent = Nd4j.createUninitialized(DataType.FLOAT, 1024, 1024);
        long before = ledger.inUseBytes(MemorySpace.HOST);

        INDArray row = parent.getRow(3);

        assertThat(ledger.inUseBytes(MemorySpace.HOST) - before).isLessThan(1024);
        assertThat(BufferKeys.keyOf(row)).isEqualTo(BufferKeys.keyOf(parent));
        assertThat(ledger.find(BufferKeys.keyOf(parent)).views()).isPositive();
        parent.close();
    }

    @Test
    void workspace_blockArraysAndSpill_areToldApart() {
        WorkspaceConfiguration configuration = WorkspaceConfiguration.builder()
                .initialSize(MIB)
                .policyAllocation(AllocationPolicy.STRICT)
                .policyLearning(LearningPolicy.NONE)
                .policySpill(SpillPolicy.EXTERNAL)
                .build();
        long reserved = ledger.reservedBytes(MemorySpace.HOST);

        try (MemoryWorkspace scope = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "HOOK_TEST")) {
            Nd4j.createUninitialized(DataType.FLOAT, 1000);
            Nd4j.createUninitialized(DataType.DOUBLE, 1 << 18);
            WorkspaceAccount account = account("HOOK_TEST");

            assertThat(account.arrayBytes()).isEqualTo(4000);
            assertThat(account.spills()).isEqualTo(1);
            assertThat(account.spilledBytes()).isEqualTo(2 * MIB);
            assertThat(ledger.reservedBytes(AllocationKind.SPILL, MemorySpace.HOST))
                    .isEqualTo(2 * MIB);
            assertThat(ledger.reservedBytes(MemorySpace.HOST) - reserved).isBetween(3 * MIB, 3 * MIB + 4096);
        }

        WorkspaceAccount account = account("HOOK_TEST");
        assertThat(account.arrayBytes()).isZero();
        assertThat(account.maxCycleBytes()).isEqualTo(4000 + 2 * MIB);
        Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread("HOOK_TEST").destroyWorkspace(true);
        assertThat(ledger.reservedBytes(AllocationKind.SPILL, MemorySpace.HOST)).isZero();
        assertThat(account.reservedBytes(MemorySpace.HOST)).isZero();
    }

    @Test
    void uninstall_thenInstall_restoresAndRecordsAnew() {
        MemoryHooks.uninstall();
        assertThat(NativeOpsHolder.getInstance().getDeviceNativeOps().getClass().getName())
                .startsWith("org.nd4j.");
        assertThat(Nd4j.getWorkspaceManager().getClass().getName()).startsWith("org.nd4j.");
        assertThat(Nd4j.ones(3, 3).sumNumber().intValue()).isEqualTo(9);

        MemoryLedger second = MemoryHooks.install().ledger();

        assertThat(second).isNotSameAs(ledger);
        assertThat(MemoryHooks.install().ledger()).isSameAs(second);
        assertThat(Nd4j.ones(3, 3).sumNumber().intValue()).isEqualTo(9);
        assertThat(second.events()).isPositive();
    }

    @Test
    void detachedBytes_matchNativeCounter() {
        long nativeBefore = Nd4j.getEnvironment().getDeviceCouner(0);
        long ledgerBefore = ledger.reservedBytes(AllocationKind.DETACHED, MemorySpace.HOST);

        INDArray[] arrays = new INDArray[50];
        for (int i = 0; i < arrays.length; i++) {
            arrays[i] = Nd4j.rand(100 + i, 77);
        }

        long nativeGrowth = Nd4j.getEnvironment().getDeviceCouner(0) - nativeBefore;
        long ledgerGrowth = ledger.reservedBytes(AllocationKind.DETACHED, MemorySpace.HOST) - ledgerBefore;
        assertThat(ledgerGrowth).isCloseTo(nativeGrowth, Percentage.withPercentage(0.5));
        assertThat(arrays).hasSize(50);
    }

    private WorkspaceAccount account(String name) {
        return ledger.accounts().stream()
                .filter(a -> a.name().equals(name))
                .findFirst()
                .orElseThrow();
    }
}
