// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.LongAdder;

/** Running figures of one owner in one memory space. */
final class OwnerAccount {
    final PeakTotal inUse = new PeakTotal();
    final LongAdder allocations = new LongAdder();
    final LongAdder allocatedBytes = new LongAdder();

    void allocated(long bytes) {
        allocations.increment();
        allocatedBytes.add(bytes);
    }
}
