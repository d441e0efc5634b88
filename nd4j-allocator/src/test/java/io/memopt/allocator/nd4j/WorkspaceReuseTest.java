// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.allocator.reuse.PlannedArray;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Arenas under hand-made plans, in ND4J's own workspaces. */
class WorkspaceReuseTest {
    private static final String OUTER = "WS_ALL_LAYERS_ACT";
    private static final String INNER = "WS_LAYER_WORKING_MEM";
    private static final long BYTES = 4096;

    private MemoryLedger ledger;
    private final Script script = new Script();

    /** Serves one plan and remembers what it was told. */
    private static final class Script implements RegionPolicy {
        @Nullable
        ArenaPlan plan;

        final List<PlanCursor> closed = new ArrayList<>();
        long refused;

        @Override
        public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
            return plan;
        }

        @Override
        public void regionClosed(@Nullable PlanCursor cursor) {
            if (cursor != null) {
                closed.add(cursor);
            }
        }

        @Override
        public void arenaRefused(long bytes) {
            refused = bytes;
        }
    }

    @BeforeEach
    void install() {
        ledger = MemoryHooks.install().ledger();
        MemoryHooks.reuse(script);
    }

    @AfterEach
    void uninstall() {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.DISABLED);
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        MemoryHooks.uninstall();
    }

    @Test
    void plannedArrays_shareBytes_afterTheLastUse() {
        script.plan = plan(array(OUTER, 0, 1, 3), array(OUTER, 1, 3, 3), array(OUTER, 2, 3, 3));
        try (MemoryWorkspace outer = open(OUTER)) {
            INDArray first = array();
            INDArray second = array();
            INDArray third = array();
            assertThat(second.data().address()).isEqualTo(first.data().address());
            assertThat(third.data().address()).isNotEqualTo(first.data().address());
            assertThat(arrayBytes(OUTER)).isEqualTo(2 * BYTES);
        }
        assertThat(script.closed)
                .singleElement()
                .satisfies(cursor -> assertThat(cursor.complete()).isTrue());
        assertThat(arenaBytes()).isEqualTo(2 * BYTES);
    }

    @Test
    void otherSize_isAMiss_andLeavesEarlierArraysAlone() {
        script.plan = plan(array(OUTER, 0, 1, 3), array(OUTER, 1, 3, 3));
        try (MemoryWorkspace outer = open(OUTER)) {
            INDArray first = array().assign(3);
            INDArray other = Nd4j.create(DataType.FLOAT, 10).assign(5);
            INDArray third = array().assign(7);
            assertThat(first.sumNumber().longValue()).isEqualTo(3 * BYTES / 4);
            assertThat(other.sumNumber().longValue()).isEqualTo(50);
            assertThat(third.sumNumber().longValue()).isEqualTo(7 * BYTES / 4);
        }
        assertThat(script.closed.get(0).missed()).isTrue();
        assertThat(script.closed.get(0).served()).isEqualTo(1);
    }

    /** The plan has the inner scope left before the second array is born. */
    @Test
    void scopeStillOpen_isAMiss_andKeepsTheBytes() {
        script.plan = plan(array(INNER, 0, 1, 1), array(OUTER, 1, 2, 2));
        try (MemoryWorkspace outer = open(OUTER)) {
            try (MemoryWorkspace inner = open(INNER)) {
                INDArray kept = array().assign(3);
                try (MemoryWorkspace borrowed = outer.notifyScopeBorrowed()) {
                    array().assign(7);
                }
                assertThat(kept.sumNumber().longValue()).isEqualTo(3 * BYTES / 4);
            }
        }
        assertThat(script.closed.get(0).missed()).isTrue();
    }

    @Test
    void arenaThatDoesNotExist_isRefused_andNd4jServes() {
        script.plan = ArenaPlan.of(
                List.of(
                        new PlannedArray(OUTER, BYTES, BYTES, 0, 2, 2),
                        new PlannedArray(OUTER, 1L << 46, 1L << 46, 1, 2, 2)),
                PlanOptions.greedy());
        try (MemoryWorkspace outer = open(OUTER)) {
            assertThat(array().assign(3).sumNumber().longValue()).isEqualTo(3 * BYTES / 4);
        }
        assertThat(script.refused).isEqualTo((1L << 46) + BYTES);
        assertThat(script.closed).isEmpty();
        assertThat(arenaBytes()).isZero();
    }

    @Test
    void reuseEndedAmidARegion_keepsTheArenaToItsEnd() {
        script.plan = plan(array(OUTER, 0, 2, 2), array(OUTER, 1, 2, 2));
        try (MemoryWorkspace outer = open(OUTER)) {
            INDArray first = array().assign(3);
            MemoryHooks.stopReuse();
            assertThat(arenaBytes()).isEqualTo(2 * BYTES);
            array().assign(7);
            assertThat(first.sumNumber().longValue()).isEqualTo(3 * BYTES / 4);
        }
        assertThat(arenaBytes()).isZero();
    }

    @Test
    void reuseEndedByAnotherThread_freesIdleArenas() throws InterruptedException {
        script.plan = plan(array(OUTER, 0, 1, 1));
        try (MemoryWorkspace outer = open(OUTER)) {
            array();
        }
        assertThat(arenaBytes()).isEqualTo(BYTES);
        Thread other = new Thread(MemoryHooks::stopReuse);
        other.start();
        other.join();
        assertThat(arenaBytes()).isZero();
    }

    @Test
    void spillEverything_isRespected() {
        script.plan = plan(array(OUTER, 0, 1, 1));
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
        try (MemoryWorkspace outer = open(OUTER)) {
            array();
        }
        assertThat(script.closed).isEmpty();
        assertThat(arenaBytes()).isZero();
    }

    @Test
    void workspacesOfUsers_areLeftAlone() {
        script.plan = plan(array("MINE", 0, 1, 1));
        try (MemoryWorkspace mine = open("MINE")) {
            array();
        }
        assertThat(script.closed).isEmpty();
    }

    private static PlannedArray array(String workspace, int birth, int lastUse, int scopeEnd) {
        return new PlannedArray(workspace, BYTES, BYTES, birth, lastUse, scopeEnd);
    }

    private static ArenaPlan plan(PlannedArray... arrays) {
        return ArenaPlan.of(List.of(arrays), PlanOptions.greedy());
    }

    private static MemoryWorkspace open(String name) {
        return Nd4j.getWorkspaceManager()
                .getAndActivateWorkspace(WorkspaceConfiguration.builder().build(), name);
    }

    private static INDArray array() {
        return Nd4j.create(DataType.FLOAT, BYTES / 4);
    }

    private long arrayBytes(String workspace) {
        return ledger.accounts().stream()
                .filter(account -> account.name().equals(workspace))
                .mapToLong(WorkspaceAccount::arrayBytes)
                .sum();
    }

    private long arenaBytes() {
        return ledger.accounts().stream()
                .filter(account -> account.name().equals(NetworkWorkspaces.ARENA))
                .mapToLong((WorkspaceAccount account) -> account.reservedBytes(MemorySpace.HOST))
                .sum();
    }
}
