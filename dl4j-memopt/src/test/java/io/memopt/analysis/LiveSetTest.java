// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import org.junit.jupiter.api.Test;

class LiveSetTest {
    private static final MemorySpace HOST = MemorySpace.HOST;

    private final LiveSet live = new LiveSet(0, new LiveSet.Listener() {});
    private long now = 100;

    @Test
    void free_ofMemoryFromBeforeTheTrace_changesNothing() {
        allocate(AllocationKind.DETACHED, 0, 4096, 10);
        free(8192, 10, now + 500);

        assertThat(live.inUseBytes(HOST)).isEqualTo(10);
        assertThat(live.unmatchedFrees()).isEqualTo(1);
        assertThat(live.isExact()).isTrue();
    }

    @Test
    void free_ofUnknownMemoryWithinTheTrace_isNoticed() {
        free(8192, 10, 5);

        assertThat(live.reservedBytes(HOST)).isZero();
        assertThat(live.isExact()).isFalse();
    }

    @Test
    void sameAddress_isToldApartByTimeOfAllocation() {
        allocate(AllocationKind.DETACHED, 0, 0, 10);
        long second = now;
        allocate(AllocationKind.DETACHED, 0, 0, 20);
        allocate(AllocationKind.DETACHED, 0, 0, 40);
        free(0, 20, now - second);

        assertThat(live.inUseBytes(HOST)).isEqualTo(50);
    }

    @Test
    void behindGap_whatMustHaveEnded_isForgotten() {
        allocate(AllocationKind.DETACHED, 0, 4096, 10);
        allocate(AllocationKind.WORKSPACE_BLOCK, 1, 1 << 20, 100);
        allocate(AllocationKind.WORKSPACE_ARRAY, 1, 1 << 20, 64);
        live.gap(3);
        allocate(AllocationKind.DETACHED, 0, 4096, 30);
        emit(EventCode.of(EventKind.SCOPE_ENTER), 1, 0, 100, 2);
        allocate(AllocationKind.WORKSPACE_ARRAY, 1, 1 << 20, 32);

        assertThat(live.inUseBytes(HOST)).isEqualTo(30 + 32);
        assertThat(live.reservedBytes(HOST)).isEqualTo(30 + 100);
        assertThat(live.isExact()).isFalse();
        assertThat(live.size()).isEqualTo(3);
    }

    @Test
    void behindGap_ringBuffersKeepTheirArrays() {
        live.markCircular(1);
        live.gap(1);
        allocate(AllocationKind.WORKSPACE_ARRAY, 1, 1 << 20, 64);
        emit(EventCode.of(EventKind.SCOPE_ENTER), 1, 0, 100, 2);

        assertThat(live.inUseBytes(HOST)).isEqualTo(64);
    }

    private void allocate(AllocationKind kind, int workspace, long address, long bytes) {
        emit(EventCode.of(EventKind.ALLOCATE, kind, HOST), workspace, address, bytes, bytes);
    }

    private void free(long address, long bytes, long age) {
        emit(EventCode.of(EventKind.FREE, AllocationKind.DETACHED, HOST), 0, address, bytes, age);
    }

    private void emit(int code, int workspace, long address, long bytes, long extra) {
        live.accept(code, now, 1, 0, workspace, address, bytes, extra);
        now += 10;
    }
}
