// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class PeakWindowTest {
    private static final MemorySpace HOST = MemorySpace.HOST;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @Test
    void take_afterPeakThatIsOver_seesItOnce() {
        PeakWindow window = ledger.openPeakWindow();
        pulse(1000);

        assertThat(window.take().inUseBytes(HOST)).isEqualTo(1000);
        assertThat(window.take().inUseBytes(HOST)).isZero();
        assertThat(window.take().reservedBytes(HOST)).isZero();
    }

    @Test
    void take_withTwoWindows_eachSeesThePeakOnce() {
        PeakWindow first = ledger.openPeakWindow();
        PeakWindow second = ledger.openPeakWindow();
        pulse(1000);
        assertThat(first.take().reservedBytes(HOST)).isEqualTo(1000);
        pulse(400);

        assertThat(second.take().reservedBytes(HOST)).isEqualTo(1000);
        assertThat(second.take().reservedBytes(HOST)).isZero();
        assertThat(first.take().reservedBytes(HOST)).isEqualTo(400);
    }

    @Test
    void open_afterPeak_doesNotSeeIt() {
        pulse(1000);

        assertThat(ledger.openPeakWindow().take().inUseBytes(HOST)).isZero();
    }

    @Test
    void take_whileBytesAreHeld_isNeverBelowTheLevel() {
        PeakWindow window = ledger.openPeakWindow();
        ledger.allocated(HOST, 1, 1, 300, 300);
        assertThat(window.take().inUseBytes(HOST)).isEqualTo(300);

        assertThat(window.take().inUseBytes(HOST)).isEqualTo(300);
        assertThat(window.take().ownerBytes(OwnerTable.UNKNOWN, HOST)).isEqualTo(300);
    }

    @Test
    void close_endsTheWindow_andLeavesOthers() {
        PeakWindow closed = ledger.openPeakWindow();
        PeakWindow open = ledger.openPeakWindow();
        closed.close();
        pulse(1000);

        assertThat(open.take().inUseBytes(HOST)).isEqualTo(1000);
        assertThat(closed.take().inUseBytes(HOST)).isZero();
    }

    @Test
    void filledBytes_ofWorkspace_isTheFullestCycleSinceLastTake() {
        WorkspaceAccount account = ledger.openAccount("WS", Thread.currentThread(), false);
        PeakWindow window = ledger.openPeakWindow();
        cycle(account, 500);
        cycle(account, 200);

        assertThat(window.take().filledBytes(account)).isEqualTo(500);
        assertThat(window.take().filledBytes(account)).isZero();
        assertThat(account.lastCycleFilledBytes()).isEqualTo(200);
    }

    @Test
    void workspaceFlows_afterAccountClosed_keepTheirCounts() {
        WorkspaceAccount account = ledger.openAccount("WS", Thread.currentThread(), false);
        account.spilled(64);
        account.blockAllocated(HOST, 100);
        account.blockAllocated(HOST, 200);
        ledger.closeAccount(account);

        WorkspaceFlows flows = ledger.workspaceFlows().get("WS");

        assertThat(flows.spills()).isEqualTo(1);
        assertThat(flows.spilledBytes()).isEqualTo(64);
        assertThat(flows.resizes()).isEqualTo(1);
    }

    @Test
    void memoryBytes_growsWithTheBooks() {
        long empty = ledger.memoryBytes();
        ledger.allocated(HOST, 1, 1, 8, 8);

        assertThat(ledger.memoryBytes()).isGreaterThan(empty);
    }

    /** A level that stays must be in every later window, whatever the interleaving of adding and taking. */
    @Test
    void take_whileAnotherThreadAdds_losesNoLevel() throws InterruptedException {
        PeakWindow window = ledger.openPeakWindow();
        AtomicBoolean done = new AtomicBoolean();
        Thread adder = new Thread(() -> {
            for (int i = 1; i <= 20_000; i++) {
                ledger.allocated(HOST, i, i, 1, 1);
            }
            done.set(true);
        });
        adder.start();
        while (!done.get()) {
            long level = ledger.inUseBytes(HOST);
            assertThat(window.take().inUseBytes(HOST)).isGreaterThanOrEqualTo(level);
        }
        adder.join();

        assertThat(window.take().inUseBytes(HOST)).isEqualTo(20_000);
        assertThat(window.take().inUseBytes(HOST)).isEqualTo(20_000);
    }

    private void pulse(long bytes) {
        ledger.allocated(HOST, 7, 7, bytes, bytes);
        ledger.freed(7);
    }

    private void cycle(WorkspaceAccount account, long bytes) {
        ledger.scopeEntered(account, HOST);
        ledger.arrayAllocated(account, HOST, 1, bytes, bytes);
        ledger.arraysReleased(account, HOST);
    }
}
