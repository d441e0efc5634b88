// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import org.junit.jupiter.api.Test;

class ProcessBookTest {
    private final LiveSet live = new LiveSet(0, new LiveSet.Listener() {});
    private final ProcessBook book = new ProcessBook(live);

    @Test
    void unattributed_isWhatNeitherJavaNorHostMemoryExplains() {
        allocate(MemorySpace.HOST, 64, 300);
        allocate(MemorySpace.PINNED, 1000, 20);
        allocate(MemorySpace.DEVICE, 2000, 5000);
        book.sampled(10, 1000, 400);
        allocate(MemorySpace.HOST, 3000, 500);
        book.sampled(20, 1100, 400);

        assertThat(book.row()).hasValue(new ProcessRow(2, 1100, 1100, 400, 280, 0));
    }

    @Test
    void peak_takesTheNearestSample_beforeOrAfter() {
        book.sampled(10, 1000, 400);
        book.peak(30);
        book.sampled(40, 900, 400);
        book.sampled(50, 800, 400);

        assertThat(book.atPeak()).hasValue(500);
        assertThat(book.distanceNanos()).isEqualTo(10);
    }

    @Test
    void noSamples_nothingIsKnown() {
        book.peak(30);

        assertThat(book.atPeak()).isEmpty();
        assertThat(book.row()).isEmpty();
    }

    private void allocate(MemorySpace space, long address, long bytes) {
        live.accept(
                EventCode.of(EventKind.ALLOCATE, AllocationKind.DETACHED, space), 1, 1, 0, 0, address, bytes, bytes);
    }
}
