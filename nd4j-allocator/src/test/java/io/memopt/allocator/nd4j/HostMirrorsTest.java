// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;

class HostMirrorsTest {
    private static final long MIB = 1 << 20;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
    private final WorkspaceAccount account = ledger.openAccount("WS_LAYER_ACT_0", Thread.currentThread(), false);
    private final HostMirrors mirrors = new HostMirrors(ledger, account);

    @AfterEach
    void free() {
        mirrors.free();
    }

    @Test
    void places_ofOneScope_areApartAndAligned() {
        Random random = new Random(1);
        List<PagedPointer> places = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            int bytes = 1 + random.nextInt(100_000);
            PagedPointer place = mirrors.place(bytes, bytes);
            assertThat(place.address() % 64).isZero();
            Pointer.memset(place, i, bytes);
            places.add(place);
        }
        for (int i = 0; i < places.size(); i++) {
            BytePointer content = new BytePointer(places.get(i));
            assertThat(content.get(0)).isEqualTo((byte) i);
            assertThat(content.get(places.get(i).capacity() - 1)).isEqualTo((byte) i);
        }
    }

    @Test
    void scopeEnteredAgain_takesTheSameMemory() {
        long first = mirrors.place(MIB, MIB).address();
        mirrors.place(5 * MIB, 5 * MIB);
        long held = ledger.reservedBytes(MemorySpace.HOST);
        for (int scope = 0; scope < 10; scope++) {
            mirrors.clear();
            assertThat(mirrors.place(MIB, MIB).address()).isEqualTo(first);
            mirrors.place(5 * MIB, 5 * MIB);
        }
        assertThat(ledger.reservedBytes(MemorySpace.HOST)).isEqualTo(held);
    }

    @Test
    void freed_isNoLongerInTheBooks_andCanBeUsedAnew() {
        mirrors.place(3 * MIB, 3 * MIB);
        assertThat(ledger.reservedBytes(MemorySpace.HOST)).isGreaterThanOrEqualTo(3 * MIB);
        mirrors.free();
        assertThat(ledger.reservedBytes(MemorySpace.HOST)).isZero();
        assertThat(account.reservedBytes(MemorySpace.HOST)).isZero();
        assertThat(mirrors.place(1, 1)).isNotNull();
    }
}
