// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.EventRing;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.List;
import org.junit.jupiter.api.Test;

class UseBookTest {
    private static final long CONTEXT = 77;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);
    private final EventRing ring = new EventRing(1 << 10);
    private final UseBook book = new UseBook(ledger);
    private final WorkspaceAccount workspace = ledger.openAccount("WS", Thread.currentThread(), false);

    UseBookTest() {
        ledger.addSink(ring);
    }

    @Test
    void viewOfView_isAUseOfTheArray() {
        UseWindow window = book.openWindow();
        array(100);
        book.bufferCreated(1, 100);
        book.viewCreated(1, 2);
        book.viewCreated(2, 3);
        array(200);
        book.used(3);

        List<ArrayLifetime> lives = window.close();
        assertThat(lives).extracting(ArrayLifetime::lastUse).containsExactly(1, 1);
        assertThat(lives).extracting(ArrayLifetime::used).containsExactly(true, false);
    }

    @Test
    void contextArgument_isUsedWhenTheOperationRuns_notAfterPurge() {
        UseWindow window = book.openWindow();
        array(100);
        book.bufferCreated(1, 100);
        book.argument(CONTEXT, false, 0, 1);
        array(200);
        book.contextRuns(CONTEXT);
        book.contextPurged(CONTEXT);
        array(300);
        book.contextRuns(CONTEXT);

        assertThat(window.close().get(0).lastUse()).isEqualTo(1);
    }

    @Test
    void bufferGivenBack_doesNotEndTheWorkspaceArray_andItsNumberMayComeAgain() {
        UseWindow window = book.openWindow();
        array(100);
        book.bufferCreated(1, 100);
        book.freed(1);
        assertThat(lastUses()).isEmpty();
        array(200);
        book.bufferCreated(1, 200);
        book.used(1);

        assertThat(window.close()).extracting(ArrayLifetime::used).containsExactly(false, true);
    }

    @Test
    void bufferOverUnknownMemory_forgetsWhatItStoodForBefore() {
        UseWindow window = book.openWindow();
        array(100);
        book.bufferCreated(1, 100);
        book.bufferCreated(1, 999);
        book.used(1);

        assertThat(window.close().get(0).used()).isFalse();
    }

    @Test
    void spilledArray_endsWithItsMemory_andIsToldOnce() {
        book.arrayBorn(workspace, true, MemorySpace.HOST, 500, 64, 64);
        book.freed(500);
        book.arraysReleased(workspace);

        assertThat(lastUses()).extracting(MemoryEvent.LastUse::address).containsExactly(500L);
    }

    @Test
    void ringBuffer_isLeftOut() {
        WorkspaceAccount circular = ledger.openAccount("RING", Thread.currentThread(), true);
        UseWindow window = book.openWindow();
        book.arrayBorn(circular, false, MemorySpace.HOST, 100, 64, 64);

        assertThat(window.close()).isEmpty();
        assertThat(book.arrayAt(100)).isNull();
    }

    @Test
    void tellLive_tellsWhatLivesOn() {
        array(100);
        ledger.bufferAllocated(MemorySpace.HOST, 9, 4096, 10, 4);
        book.detachedBorn(9);
        book.used(9);

        book.tellLive();

        assertThat(lastUses()).extracting(MemoryEvent.LastUse::span).containsExactly(0L, 1L);
    }

    @Test
    void arrayOfAnotherThread_countsOnItsOwnClock() throws InterruptedException {
        UseWindow window = book.openWindow();
        array(100);
        book.bufferCreated(1, 100);
        Thread other = new Thread(() -> {
            for (int i = 0; i < 5; i++) {
                array(1000 + i);
            }
            book.used(1);
        });
        other.start();
        other.join();

        assertThat(window.close()).hasSize(1).allMatch(life -> life.used() && life.lastUse() == 0);
    }

    @Test
    void window_ofTooManyArrays_saysSo() {
        UseWindow window = book.openWindow();
        for (int i = 0; i <= UseWindow.MAX_ARRAYS; i++) {
            array(i + 1);
            book.arraysReleased(workspace);
        }

        assertThatThrownBy(window::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("more than 262144 arrays");
        assertThat(book.openWindow().close()).isEmpty();
    }

    @Test
    void findings_areBounded_usesBeyondAreCounted() {
        ScopeCheck check = new ScopeCheck(ledger.owners());
        book.check(check);
        for (int i = 0; i < ScopeCheck.MAX_FINDINGS + 10; i++) {
            WorkspaceAccount each = ledger.openAccount("WS" + i, Thread.currentThread(), false);
            book.arrayBorn(each, false, MemorySpace.HOST, 64, 64, 64);
            book.bufferCreated(1, 64);
            book.arraysReleased(each);
            book.used(1);
        }

        assertThat(check.findings()).hasSize(ScopeCheck.MAX_FINDINGS);
        assertThat(check.uses()).isEqualTo(ScopeCheck.MAX_FINDINGS + 10);
    }

    private void array(long address) {
        book.arrayBorn(workspace, false, MemorySpace.HOST, address, 60, 64);
    }

    private List<MemoryEvent.LastUse> lastUses() {
        return ring.snapshot().stream()
                .filter(MemoryEvent.LastUse.class::isInstance)
                .map(MemoryEvent.LastUse.class::cast)
                .toList();
    }
}
