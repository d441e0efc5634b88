// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/** Running figures of one owner in one memory space. */
final class OwnerAccount extends PeakTotal {
    private static final AtomicLongFieldUpdater<OwnerAccount> COUNT =
            AtomicLongFieldUpdater.newUpdater(OwnerAccount.class, "count");

    private static final AtomicLongFieldUpdater<OwnerAccount> BYTES =
            AtomicLongFieldUpdater.newUpdater(OwnerAccount.class, "bytes");

    private volatile long count;
    private volatile long bytes;

    /** Counts allocations made; negative figures take back what turned out to be another owner's. */
    void allocated(int allocations, long allocatedBytes) {
        COUNT.addAndGet(this, allocations);
        BYTES.addAndGet(this, allocatedBytes);
    }

    /** Allocations made since the start. */
    long allocations() {
        return count;
    }

    /** Their bytes. */
    long allocatedBytes() {
        return bytes;
    }
}
