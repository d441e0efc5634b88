// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlanCursor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Arenas without plans: arrays of ND4J's own workspaces lie there to the ends of their scopes. */
class SizedArenaTest {
    private static final String OUTER = "WS_ALL_LAYERS_ACT";
    private static final String INNER = "WS_LAYER_WORKING_MEM";
    private static final long BYTES = 4096;
    private static final int TRIM_AFTER = 4;

    private MemoryLedger ledger;
    private WorkspaceReuse reuse;
    private final Room room = new Room();

    /** Says how large the arena should be and hears what was needed. */
    private static final class Room implements RegionPolicy {
        long bytes;
        final List<Long> needed = new ArrayList<>();

        @Override
        public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
            return null;
        }

        @Override
        public long roomBytes() {
            return bytes;
        }

        @Override
        public void regionSized(long neededBytes) {
            needed.add(neededBytes);
        }

        @Override
        public void regionClosed(@Nullable PlanCursor cursor) {}

        @Override
        public void arenaRefused(long refused) {}
    }

    @BeforeEach
    void install() {
        ledger = MemoryHooks.install().ledger();
        reuse = MemoryHooks.reuse(room, new ArenaOptions(TRIM_AFTER, Duration.ZERO));
    }

    @AfterEach
    void uninstall() {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        MemoryHooks.uninstall();
    }

    @Test
    void closedScope_lendsItsBytes_openOneKeepsThem() {
        room.bytes = 4 * BYTES;
        region(1);
        assertThat(arenaBytes()).isEqualTo(4 * BYTES);
        assertThat(room.needed).containsExactly(3 * BYTES);
        assertThat(spilledBytes()).isZero();
        assertThat(blockBytes()).isZero();
    }

    @Test
    void arrayWithoutRoom_spills_andIsCounted_andLeavesNoBlockBehind() {
        room.bytes = 2 * BYTES;
        region(1);
        assertThat(room.needed).containsExactly(3 * BYTES);
        assertThat(spilledBytes()).isEqualTo(2 * BYTES);
        assertThat(reuse.figures().outsideBytes()).isEqualTo(2 * BYTES);
        assertThat(blockBytes()).isZero();
        assertThat(ledger.reservedBytes(MemorySpace.HOST) - arenaBytes()).isLessThan(BYTES);
    }

    @Test
    void nothingKnown_isServedByNd4j_whichLearnsNothing() {
        region(1);
        assertThat(arenaBytes()).isZero();
        assertThat(blockBytes()).isZero();
        room.bytes = room.needed.get(0);
        region(1);
        assertThat(spilledBytes()).isEqualTo(5 * BYTES);
        assertThat(reuse.figures().resizes()).isZero();
    }

    @Test
    void outlier_isGivenBack_afterRegionsWithoutNeed() {
        room.bytes = 3 * BYTES;
        region(1);
        room.bytes = 30 * BYTES;
        region(10);
        room.bytes = 3 * BYTES;
        for (int i = 0; i < 2 * TRIM_AFTER; i++) {
            region(1);
        }
        assertThat(arenaBytes()).isEqualTo(3 * BYTES);
        assertThat(reuse.figures().trims()).isEqualTo(1);
        assertThat(reuse.figures().trimmedBytes()).isEqualTo(27 * BYTES);
        assertThat(reuse.figures().resizes()).isEqualTo(1);
        assertThat(spilledBytes()).isZero();
    }

    @Test
    void idleArena_isGivenBack_andComesBack() {
        room.bytes = 5 * BYTES;
        region(1);
        reuse.releaseIdle(System.nanoTime() - Duration.ofHours(1).toNanos());
        assertThat(arenaBytes()).isEqualTo(5 * BYTES);
        reuse.releaseIdle(System.nanoTime());
        assertThat(arenaBytes()).isZero();
        assertThat(reuse.figures().idleBytes()).isEqualTo(5 * BYTES);
        room.bytes = 0;
        region(1);
        assertThat(arenaBytes()).isEqualTo(5 * BYTES);
        assertThat(spilledBytes()).isZero();
    }

    @Test
    void openScope_isNeverIdle() {
        room.bytes = 2 * BYTES;
        try (MemoryWorkspace outer = open(OUTER)) {
            INDArray array = array(1).assign(3);
            reuse.releaseIdle(System.nanoTime());
            assertThat(arenaBytes()).isEqualTo(2 * BYTES);
            assertThat(array.sumNumber().longValue()).isEqualTo(3 * BYTES / 4);
        }
    }

    @Test
    void idleThread_losesItsArena_byItself() throws InterruptedException {
        MemoryHooks.reuse(room, new ArenaOptions(TRIM_AFTER, Duration.ofMillis(40)));
        room.bytes = 5 * BYTES;
        CountDownLatch served = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            region(1);
            served.countDown();
            awaitQuietly(end);
        });
        thread.start();
        served.await();
        while (arenaBytes() > 0) {
            Thread.onSpinWait();
        }
        end.countDown();
        thread.join();
    }

    @Test
    void options_outOfRange_areRefused() {
        assertThatThrownBy(() -> new ArenaOptions(0, Duration.ZERO)).hasMessage("trimAfter=0, expected at least 1");
        assertThatThrownBy(() -> new ArenaOptions(1, Duration.ofMillis(-1)))
                .hasMessage("releaseIdleAfter=PT-0.001S, expected 0 to PT8760H");
    }

    /** Two arrays inside an array's scope, twice; all in all at most three times {@code factor} at once. */
    private static void region(int factor) {
        try (MemoryWorkspace outer = open(OUTER)) {
            INDArray kept = array(factor).assign(3);
            for (int i = 0; i < 2; i++) {
                try (MemoryWorkspace inner = open(INNER)) {
                    INDArray first = array(factor).assign(5);
                    INDArray second = array(factor).assign(7);
                    assertHolds(first, 5);
                    assertHolds(second, 7);
                }
            }
            assertHolds(kept, 3);
        }
    }

    /** Read by Java: an operation would put its result into the workspace, too. */
    private static void assertHolds(INDArray array, float value) {
        assertThat(array.getFloat(0)).isEqualTo(value);
        assertThat(array.getFloat(array.length() - 1)).isEqualTo(value);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static MemoryWorkspace open(String name) {
        return Nd4j.getWorkspaceManager()
                .getAndActivateWorkspace(
                        WorkspaceConfiguration.builder()
                                .policyLearning(LearningPolicy.FIRST_LOOP)
                                .policySpill(SpillPolicy.REALLOCATE)
                                .build(),
                        name);
    }

    private static INDArray array(int factor) {
        return Nd4j.create(DataType.FLOAT, factor * BYTES / 4);
    }

    private long spilledBytes() {
        return ledger.accounts().stream()
                .mapToLong(WorkspaceAccount::spilledBytes)
                .sum();
    }

    /** Of ND4J's own. */
    private long blockBytes() {
        return reserved(account -> !account.name().equals(NetworkWorkspaces.ARENA));
    }

    private long arenaBytes() {
        return reserved(account -> account.name().equals(NetworkWorkspaces.ARENA));
    }

    private long reserved(Predicate<WorkspaceAccount> which) {
        return ledger.accounts().stream()
                .filter(which)
                .mapToLong(account -> account.reservedBytes(MemorySpace.HOST))
                .sum();
    }
}
