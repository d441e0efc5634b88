// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryLedgerTest {
    private static final MemorySpace HOST = MemorySpace.HOST;
    private static final MemorySpace DEVICE = MemorySpace.DEVICE;
    private static final Owner WORK = new Owner("net", "conv1", Phase.FORWARD, Category.OTHER, "");

    private final OwnerTable owners = new OwnerTable();
    private final MemoryLedger ledger = new MemoryLedger(owners, new WorkspaceTable(), MemoryLedgerTest::category);
    private final Events.Collector events = new Events.Collector();

    @BeforeEach
    void listen() {
        ledger.addSink(events);
        ledger.contextChanged(owners.idOf(WORK));
    }

    @AfterEach
    void leaveNoContext() {
        ThreadContext.current().owner(owners, OwnerTable.UNKNOWN);
        ThreadContext.current().iteration(owners, -1);
    }

    @Test
    void sink_thatThrows_isDropped_booksAndOtherSinksAreNotTouched() {
        MemoryLedger other = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
        LongAdder thrown = new LongAdder();
        LongAdder heard = new LongAdder();
        other.addSink((code, time, thread, owner, workspace, address, bytes, extra) -> {
            thrown.increment();
            throw new IllegalStateException("fault");
        });
        other.addSink((code, time, thread, owner, workspace, address, bytes, extra) -> heard.increment());

        other.allocated(MemorySpace.HOST, 1, 1, 100, 100);
        other.freed(1);

        assertThat(thrown.sum()).isEqualTo(1);
        assertThat(heard.sum()).isEqualTo(2);
        assertThat(other.inUseBytes(MemorySpace.HOST)).isZero();
    }

    @Test
    void allocated_whenDetached_isReservedAndInUse() {
        ThreadContext.current().iteration(owners, 3);

        ledger.allocated(HOST, 1, 0x1000, 100, 128);

        assertThat(ledger.reservedBytes(HOST)).isEqualTo(128);
        assertThat(ledger.reservedBytes(AllocationKind.DETACHED, HOST)).isEqualTo(128);
        assertThat(ledger.inUseBytes(HOST)).isEqualTo(128);
        assertThat(ledger.inUseBytes(DEVICE)).isZero();
        assertThat(ledger.inUseByCategory()).containsExactly(entry(Category.ACTIVATIONS, 128L));
        LiveAllocation live = ledger.find(1);
        assertThat(live).isNotNull();
        assertThat(live.iteration()).isEqualTo(3);
        assertThat(live.requestedBytes()).isEqualTo(100);
        assertThat(owners.ownerOf(live.owner())).isEqualTo(WORK.withCategory(Category.ACTIVATIONS));
    }

    @Test
    void freed_afterAllocated_leavesZeroAndKeepsPeaks() {
        ledger.allocated(HOST, 1, 0x1000, 100, 128);

        ledger.freed(1);
        ledger.freed(1);
        ledger.freed(4711);

        assertZero(ledger);
        assertThat(ledger.inUsePeak().bytes()).isEqualTo(128);
        assertThat(ledger.reservedPeak().bytes()).isEqualTo(128);
        assertThat(ledger.flows().freedBytes(AllocationKind.DETACHED, HOST)).isEqualTo(128);
        MemoryEvent.Free free = (MemoryEvent.Free) events.all().get(2);
        MemoryEvent.Allocate allocate = (MemoryEvent.Allocate) events.all().get(1);
        assertThat(free.ageNanos()).isEqualTo(free.timeNanos() - allocate.timeNanos());
        assertThat(free.owner()).isEqualTo(allocate.owner());
    }

    @Test
    void allocated_whenKeyIsStillLive_endsTheOldOne() {
        ledger.allocated(HOST, 1, 0x1000, 100, 100);

        ledger.allocated(DEVICE, 1, 0x1000, 30, 30);

        assertThat(ledger.inUseBytes(HOST)).isZero();
        assertThat(ledger.inUseBytes(DEVICE)).isEqualTo(30);
        assertThat(events.all()).extracting(e -> e.kind().name()).endsWith("ALLOCATE", "FREE", "ALLOCATE");
    }

    @Test
    void block_whenAllocated_isReservedButNotInUse() {
        WorkspaceAccount account = open("WS");

        own(AllocationKind.WORKSPACE_BLOCK, account, 1, 1000);

        assertThat(ledger.reservedBytes(HOST)).isEqualTo(1000);
        assertThat(ledger.inUseBytes(HOST)).isZero();
        assertThat(account.reservedBytes(HOST)).isEqualTo(1000);
        assertThat(account.resizes()).isZero();
        ledger.freed(1);
        assertThat(account.reservedBytes(HOST)).isZero();
        assertZero(ledger);
    }

    @Test
    void block_whenReplaced_countsAResize() {
        WorkspaceAccount account = open("WS");
        own(AllocationKind.WORKSPACE_BLOCK, account, 1, 1000);
        ledger.freed(1);

        own(AllocationKind.WORKSPACE_BLOCK, account, 2, 2000);

        assertThat(account.resizes()).isEqualTo(1);
        assertThat(account.reservedBytes(HOST)).isEqualTo(2000);
    }

    @Test
    void arrays_inBlock_areInUseButNotReservedAgain() {
        WorkspaceAccount account = open("WS");
        own(AllocationKind.WORKSPACE_BLOCK, account, 1, 1000);

        ledger.scopeEntered(account, HOST);
        ledger.arrayAllocated(account, HOST, 0x10, 90, 96);
        ledger.arrayAllocated(account, HOST, 0x70, 100, 104);

        assertThat(ledger.reservedBytes(HOST)).isEqualTo(1000);
        assertThat(ledger.inUseBytes(HOST)).isEqualTo(200);
        assertThat(account.arrayBytes()).isEqualTo(200);
        assertThat(ledger.flows().allocations(AllocationKind.WORKSPACE_ARRAY, HOST))
                .isEqualTo(2);
        assertThat(ledger.flows().allocatedBytes(AllocationKind.WORKSPACE_ARRAY, HOST))
                .isEqualTo(200);

        ledger.arraysReleased(account, HOST);
        ledger.arraysReleased(account, HOST);

        assertThat(ledger.inUseBytes(HOST)).isZero();
        assertThat(account.lastCycleBytes()).isEqualTo(200);
        assertThat(account.maxCycleBytes()).isEqualTo(200);
        assertThat(ledger.flows().freedBytes(AllocationKind.WORKSPACE_ARRAY, HOST))
                .isEqualTo(200);
        assertThat(events.all().stream().filter(MemoryEvent.ScopeRelease.class::isInstance))
                .hasSize(1);
    }

    @Test
    void closeAccount_whenArraysLieOnDevice_endsThemThere() {
        WorkspaceAccount account = open("WS");
        ledger.arrayAllocated(account, DEVICE, 0x10, 96, 96);
        ledger.arrayAllocated(account, HOST, 0x10, 8, 8);

        ledger.closeAccount(account);

        assertZero(ledger);
        assertThat(ledger.accounts()).isEmpty();
        assertThat(ledger.workspaces().get(account.id())).isNull();
    }

    @Test
    void spill_whenAllocated_isReservedInUseAndPartOfTheCycle() {
        WorkspaceAccount account = open("WS");
        ledger.scopeEntered(account, HOST);
        ledger.arrayAllocated(account, HOST, 0x10, 100, 100);

        own(AllocationKind.SPILL, account, 5, 40);
        ledger.arraysReleased(account, HOST);

        assertThat(ledger.reservedBytes(AllocationKind.SPILL, HOST)).isEqualTo(40);
        assertThat(ledger.inUseBytes(HOST)).isEqualTo(40);
        assertThat(account.spills()).isEqualTo(1);
        assertThat(account.spilledBytes()).isEqualTo(40);
        assertThat(account.lastCycleBytes()).isEqualTo(140);
    }

    @Test
    void reclassify_whenDetached_movesBytesWithoutCountingThemAgain() {
        ledger.allocated(HOST, 1, 0x1000, 64, 64);

        assertThat(ledger.reclassify(1, "net", Category.PARAMETERS)).isTrue();
        assertThat(ledger.reclassify(1, "net", Category.PARAMETERS)).isTrue();
        assertThat(ledger.reclassify(2, "net", Category.PARAMETERS)).isFalse();

        assertThat(ledger.inUseByCategory()).containsExactly(entry(Category.PARAMETERS, 64L));
        assertThat(ledger.usage().stream().mapToLong(OwnerUsage::allocations).sum())
                .isEqualTo(1);
        assertThat(events.all().stream().filter(MemoryEvent.Reclassify.class::isInstance))
                .hasSize(1);
        ledger.freed(1);
        assertZero(ledger);
    }

    @Test
    void reclassify_whenBlock_leavesWhatIsInUseAlone() {
        own(AllocationKind.WORKSPACE_BLOCK, open("WS"), 1, 1000);

        ledger.reclassify(1, "net", Category.PARAMETERS);

        assertThat(ledger.inUseByCategory()).isEmpty();
        ledger.freed(1);
        assertZero(ledger);
    }

    @Test
    void resized_whenInWorkspace_keepsOwnerAndWorkspace() {
        WorkspaceAccount account = open("WS");
        own(AllocationKind.SPILL, account, 1, 10);

        ledger.resized(1, 1, 30);
        ledger.resized(2, 2, 30);

        assertThat(ledger.inUseBytes(HOST)).isEqualTo(30);
        MemoryEvent.Allocate again =
                (MemoryEvent.Allocate) events.all().get(events.all().size() - 1);
        assertThat(again.workspace()).isEqualTo(account.id());
        assertThat(again.roundedBytes()).isEqualTo(30);
    }

    @Test
    void adopt_whenUnknown_booksOnce() {
        ledger.adopt(HOST, 1, 1, 100, "net", Category.PARAMETERS);
        ledger.adopt(HOST, 1, 1, 100, "net", Category.PARAMETERS);

        assertThat(ledger.inUseByCategory()).containsExactly(entry(Category.PARAMETERS, 100L));
    }

    @Test
    void views_keepCountUntilDeleted() {
        ledger.allocated(HOST, 1, 1, 1 << 20, 1 << 20);

        ledger.viewCreated(1, 2);
        ledger.viewCreated(2, 3);
        ledger.freed(3);

        assertThat(ledger.find(1)).extracting(LiveAllocation::views).isEqualTo(1);
        assertThat(ledger.inUseBytes(HOST)).isEqualTo(1 << 20);
    }

    @Test
    void views_ofANetworksFlatArray_areCountedNoMoreOnceItIsKnown() {
        ledger.allocated(HOST, 1, 1, 1 << 20, 1 << 20);
        ledger.viewCreated(1, 2);
        ledger.reclassify(1, "net", Category.GRADIENTS);

        ledger.viewCreated(1, 3);
        ledger.viewCreated(2, 4);

        assertThat(ledger.find(1)).extracting(LiveAllocation::views).isEqualTo(1);
    }

    @Test
    void windowPeak_whenTaken_restartsAtThePresentLevel() {
        PeakWindow window = ledger.openPeakWindow();
        ledger.allocated(HOST, 1, 1, 100, 100);
        ledger.allocated(HOST, 2, 2, 50, 50);
        ledger.freed(1);

        int owner = owners.idOf(WORK.withCategory(Category.ACTIVATIONS));
        WindowPeaks first = window.take();
        WindowPeaks second = window.take();
        assertThat(first.inUseBytes(HOST)).isEqualTo(150);
        assertThat(second.inUseBytes(HOST)).isEqualTo(50);
        assertThat(first.reservedBytes(HOST)).isEqualTo(150);
        assertThat(first.ownerBytes(owner, HOST)).isEqualTo(150);
        assertThat(second.ownerBytes(owner, HOST)).isEqualTo(50);
        window.close();
    }

    @Test
    void accountWindow_whenTaken_restartsAtThePresentLevel() {
        WorkspaceAccount account = open("WS");
        ledger.arrayAllocated(account, HOST, 1, 100, 100);
        ledger.arraysReleased(account, HOST);
        ledger.arrayAllocated(account, HOST, 1, 30, 30);

        assertThat(account.takeWindowUsedBytes()).isEqualTo(100);
        assertThat(account.takeWindowUsedBytes()).isEqualTo(30);
    }

    @Test
    void peak_atItsMoment_saysWhoWhenAndWhat() {
        ThreadContext.current().iteration(owners, 9);
        ledger.allocated(HOST, 1, 1, 100, 100);
        ledger.reclassify(1, "net", Category.PARAMETERS);
        ledger.allocated(HOST, 2, 2, 50, 50);
        ledger.freed(2);
        ThreadContext.current().iteration(owners, 10);
        ledger.allocated(HOST, 3, 3, 50, 50);

        PeakMoment peak = ledger.inUsePeak();

        assertThat(peak.bytes()).isEqualTo(150);
        assertThat(peak.iteration()).isEqualTo(9);
        assertThat(peak.owner().layer()).isEqualTo("conv1");
        assertThat(peak.inUse()).containsExactly(entry(Category.PARAMETERS, 100L), entry(Category.ACTIVATIONS, 50L));
    }

    @Test
    void owners_whenTableIsFull_shareUnknownAndTotalsStayExact() {
        OwnerTable two = new OwnerTable(2);
        MemoryLedger small = new MemoryLedger(two, new WorkspaceTable(), MemoryLedgerTest::category);
        for (int i = 0; i < 5; i++) {
            small.contextChanged(two.idOf(new Owner("net", "l" + i, Phase.FORWARD, Category.OTHER, "")));
            small.allocated(HOST, i, i, 10, 10);
        }

        assertThat(small.inUseBytes(HOST)).isEqualTo(50);
        assertThat(small.usage().stream().mapToLong(OwnerUsage::liveBytes).sum())
                .isEqualTo(50);
        for (int i = 0; i < 5; i++) {
            small.freed(i);
        }
        assertZero(small);
    }

    /** Threads outlive a ledger, and with them the owner that the one before gave them. */
    @Test
    void allocated_whenThreadCarriesAnOwnerOfAnotherLedger_isUnknown() {
        MemoryLedger other = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), MemoryLedgerTest::category);
        ThreadContext.current().owner(owners, 4711);

        other.allocated(HOST, 1, 1, 8, 8);

        assertThat(other.usage()).extracting(OwnerUsage::owner).containsExactly(Owner.UNKNOWN);
    }

    /** An address that was not worth counting may be that of a large array next. */
    @Test
    void viewCreated_ofAKeyThatWasUnknownBefore_isCounted() {
        ledger.viewCreated(1, 2);
        ledger.allocated(HOST, 1, 0x1000, 1 << 20, 1 << 20);
        ledger.viewCreated(1, 3);
        ledger.viewCreated(3, 4);

        assertThat(ledger.find(1).views()).isEqualTo(2);
        ledger.freed(4);
        assertThat(ledger.find(1).views()).isEqualTo(1);
    }

    @Test
    void transferred_tellsWhetherTheHostEndIsPageLocked() {
        ledger.allocated(MemorySpace.PINNED, 7, 0x1000, 4096, 4096);
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 0x9000, 0x1fff, 1, 7);
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 0x1000, 0x2000, 1, 7);
        ledger.transferred(TransferDirection.DEVICE_TO_HOST, 0x1000, 0x9000, 1, 7);
        ledger.transferred(TransferDirection.DEVICE_TO_DEVICE, 0x1000, 0x1000, 1, 7);
        ledger.freed(7);
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 0x9000, 0x1fff, 1, 7);

        assertThat(events.all())
                .filteredOn(MemoryEvent.Transfer.class::isInstance)
                .extracting(event -> ((MemoryEvent.Transfer) event).hostEnd())
                .containsExactly(MemorySpace.PINNED, HOST, MemorySpace.PINNED, null, HOST);
    }

    @Test
    void flows_countTransfersFailuresAndCollections() {
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 1, 2, 100, 7);
        ledger.allocationFailed(DEVICE, 1 << 30);
        ledger.garbageCollected(true, 5);

        assertThat(ledger.flows().transferredBytes(TransferDirection.HOST_TO_DEVICE))
                .isEqualTo(100);
        assertThat(ledger.flows().transferNanos(TransferDirection.HOST_TO_DEVICE))
                .isEqualTo(7);
        assertThat(ledger.flows().failures(DEVICE)).isEqualTo(1);
        assertThat(ledger.flows().collections(true)).isEqualTo(1);
        assertThat(ledger.flows().collectionNanos(true)).isEqualTo(5);
        assertThat(ledger.events()).isEqualTo(events.all().size());
    }

    @Test
    void flows_countTinyTransfersByDirection_andSynchronizationsWithoutEvents() {
        long before = ledger.events();

        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 1, 2, 4095, 7);
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 1, 2, 4096, 7);
        ledger.transferred(TransferDirection.DEVICE_TO_HOST, 1, 2, 4, 7);
        ledger.streamSynchronized();
        ledger.streamSynchronized();

        assertThat(ledger.flows().tinyTransfers(TransferDirection.HOST_TO_DEVICE))
                .isEqualTo(1);
        assertThat(ledger.flows().transfers(TransferDirection.HOST_TO_DEVICE)).isEqualTo(2);
        assertThat(ledger.flows().tinyTransfers(TransferDirection.DEVICE_TO_HOST))
                .isEqualTo(1);
        assertThat(ledger.flows().synchronizations()).isEqualTo(2);
        assertThat(ledger.events()).isEqualTo(before + 3);
    }

    @Test
    void sink_whenRemoved_hearsNothingMore() {
        int before = events.all().size();

        ledger.removeSink(events);
        ledger.allocated(HOST, 1, 1, 1, 1);

        assertThat(events.all()).hasSize(before);
    }

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3})
    void totals_whenThreadsFreeAll_areZero(long seed) throws Exception {
        Random random = new Random(seed);
        ledger.removeSink(events);
        int threads = 3;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                LedgerDriver driver = new LedgerDriver(ledger, new Random(random.nextLong()), t * 1_000_000_000L);
                running.add(pool.submit(() -> {
                    driver.steps(20_000);
                    driver.freeAll();
                }));
            }
            for (Future<?> future : running) {
                future.get();
            }
        } finally {
            pool.shutdownNow();
        }

        assertZero(ledger);
        assertThat(ledger.liveAllocations()).isEmpty();
    }

    /** Before allocations remembered their end, bytes could stay with the new owner for ever. */
    @Test
    void reclassify_whileOthersFree_leavesNoBytesBehind() throws Exception {
        int rounds = 20_000;
        CyclicBarrier round = new CyclicBarrier(2);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        ledger.removeSink(events);
        try {
            Future<?> freeing = pool.submit(() -> {
                for (int i = 0; i < rounds; i++) {
                    round.await();
                    ledger.freed(i);
                }
                return null;
            });
            for (int i = 0; i < rounds; i++) {
                ledger.allocated(HOST, i, i, 8, 8);
                round.await();
                ledger.reclassify(i, "net", Category.PARAMETERS);
            }
            freeing.get();
        } finally {
            pool.shutdownNow();
        }

        assertZero(ledger);
    }

    private WorkspaceAccount open(String name) {
        return ledger.openAccount(name, Thread.currentThread(), false);
    }

    private void own(AllocationKind kind, WorkspaceAccount account, long key, long bytes) {
        ThreadContext.current().beginIntent(kind, account);
        try {
            ledger.allocated(HOST, key, key, bytes, bytes);
        } finally {
            ThreadContext.current().endIntent();
        }
    }

    private static Category category(Owner owner) {
        return owner.layer().isEmpty() ? Category.OTHER : Category.ACTIVATIONS;
    }

    private static void assertZero(MemoryLedger ledger) {
        for (MemorySpace space : MemorySpace.values()) {
            assertThat(ledger.inUseBytes(space)).isZero();
            assertThat(ledger.reservedBytes(space)).isZero();
            for (AllocationKind kind : AllocationKind.values()) {
                assertThat(ledger.reservedBytes(kind, space)).isZero();
            }
        }
        assertThat(ledger.inUseByCategory()).isEmpty();
        assertThat(ledger.usage()).allMatch(usage -> usage.liveBytes() == 0);
    }
}
