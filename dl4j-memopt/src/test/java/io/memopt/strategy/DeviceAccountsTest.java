// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.pool.DeviceReconciliation;
import io.memopt.allocator.pool.DeviceUsage;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** With a real ledger and a driver of numbers. */
class DeviceAccountsTest {
    private static final long MIB = 1 << 20;

    private final MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), Owner::category);
    private final AtomicLong used = new AtomicLong(2000 * MIB);

    @Test
    void firstUse_thatAlsoMakesArrays_booksTheRestForTheLibrary() {
        DeviceAccounts accounts = begin();

        String result = accounts.firstUse("cublas", () -> {
            allocate(1, 100 * MIB);
            used.addAndGet(32 * MIB);
            return "product";
        });
        allocate(2, 400 * MIB);
        used.addAndGet(7 * MIB);

        DeviceReconciliation now = accounts.now(PoolStatistics.NONE);
        assertThat(result).isEqualTo("product");
        assertThat(now.contextBytes()).isEqualTo(2000 * MIB);
        assertThat(now.arraysBytes()).isEqualTo(500 * MIB);
        assertThat(now.libraryBytes()).containsEntry("cublas", 32 * MIB);
        assertThat(now.unattributedBytes()).isEqualTo(7 * MIB);
    }

    @Test
    void begin_withArraysThatTheLedgerKnows_doesNotCountThemAsContext() {
        allocate(1, 100 * MIB);

        assertThat(begin().now(PoolStatistics.NONE).contextBytes()).isEqualTo(2000 * MIB);
    }

    @Test
    void firstUse_thatOnlyFrees_booksNothing() {
        DeviceAccounts accounts = begin();

        accounts.firstUse("cudnn", () -> used.addAndGet(-10 * MIB));

        assertThat(accounts.now(PoolStatistics.NONE).libraryBytes()).containsEntry("cudnn", 0L);
        assertThat(accounts.now(PoolStatistics.NONE).unattributedBytes()).isEqualTo(-10 * MIB);
    }

    @Test
    void note_withoutProcessFigures_saysSo() {
        allocate(1, 100 * MIB);
        assertThat(begin().note(PoolStatistics.NONE))
                .startsWith("Device memory by the driver: 2.05 GiB (2202009600 B) in use: arrays 100.0 MiB")
                .contains("context 1.95 GiB")
                .endsWith("It does not tell processes apart: others are in the context.");
    }

    private DeviceAccounts begin() {
        return DeviceAccounts.begin(ledger, () -> new DeviceUsage(100_000 * MIB, used.get(), OptionalLong.empty()));
    }

    private void allocate(long address, long bytes) {
        ledger.allocated(MemorySpace.DEVICE, address, address, bytes, bytes);
        used.addAndGet(bytes);
    }
}
