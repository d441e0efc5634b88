// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.LongAdder;

/** Running figures of one owner in one memory space. */
final class OwnerAccount {
    final PeakTotal inUse = new PeakTotal();
    final LongAdder allocations = new LongAdder();
    final LongAdder allocatedBytes = new LongAdder();

    /** Counts allocations made; negative figures take back what turned out to be another owner's. */
    void allocated(int count, long bytes) {
        allocations.add(count);
        allocatedBytes.add(bytes);
    }
}
