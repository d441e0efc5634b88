// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LiveReplayTest {
    private static final MemorySpace HOST = MemorySpace.HOST;

    @TempDir
    Path directory;

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void replay_ofRecordedLedger_givesItsTotalsAndPeaks(long seed) throws Exception {
        Random random = new Random(seed);
        OwnerTable owners = new OwnerTable(seed % 2 == 0 ? OwnerTable.DEFAULT_CAPACITY : 50);
        MemoryLedger ledger = new MemoryLedger(
                owners,
                new WorkspaceTable(),
                owner -> Category.values()[owner.layer().length() % 3]);
        Path file = directory.resolve("trace.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, ledger.workspaces())) {
            ledger.addSink(writer);
            LedgerDriver driver = new LedgerDriver(ledger, random, 1000);
            driver.steps(20_000);
            assertThat(writer.lostEvents()).isZero();
        }

        try (TraceReader reader = new TraceReader(file)) {
            LiveReplay replay = new LiveReplay(reader.header().startNanos());
            assertThat(reader.read(replay).isComplete()).isTrue();
            assertSame(replay, ledger, reader);
        }
    }

    @Test
    void replay_whenMemoryIsOlderThanTheRecording_leavesItOut() throws Exception {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);
        ledger.allocated(HOST, 1, 1, 100, 100);
        Path file = directory.resolve("late.memopt");
        try (TraceWriter writer = new TraceWriter(file, ledger.owners(), ledger.workspaces())) {
            ledger.addSink(writer);
            ledger.allocated(HOST, 2, 2, 7, 8);
            ledger.freed(1);
        }

        try (TraceReader reader = new TraceReader(file)) {
            LiveReplay replay = new LiveReplay(reader.header().startNanos());
            reader.read(replay);
            assertThat(replay.reservedBytes(HOST)).isEqualTo(8);
            assertThat(replay.inUseBytes(HOST)).isEqualTo(8);
        }
    }

    @Test
    void isExact_afterGap_isFalse() {
        LiveReplay replay = new LiveReplay(0);

        replay.gap(1);

        assertThat(replay.isExact()).isFalse();
    }

    private static void assertSame(LiveReplay replay, MemoryLedger ledger, TraceReader reader) {
        long largestInUse = 0;
        long largestReserved = 0;
        for (MemorySpace space : MemorySpace.values()) {
            assertThat(replay.inUseBytes(space)).isEqualTo(ledger.inUseBytes(space));
            assertThat(replay.reservedBytes(space)).isEqualTo(ledger.reservedBytes(space));
            for (AllocationKind kind : AllocationKind.values()) {
                assertThat(replay.reservedBytes(kind, space)).isEqualTo(ledger.reservedBytes(kind, space));
            }
            largestInUse = Math.max(largestInUse, replay.peakInUseBytes(space));
            largestReserved = Math.max(largestReserved, replay.peakReservedBytes(space));
        }
        assertThat(largestInUse).isEqualTo(ledger.inUsePeak().bytes());
        assertThat(largestReserved).isEqualTo(ledger.reservedPeak().bytes());
        assertThat(replay.usage(reader::owner)).containsExactlyInAnyOrderElementsOf(ledger.usage());
        assertThat(replay.isExact()).isTrue();
    }
}
