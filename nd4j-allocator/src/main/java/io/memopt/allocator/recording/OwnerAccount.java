// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/** Running figures of one owner in one memory space. Threading: written under the lock of the {@link Journals}, read by any thread. */
final class OwnerAccount extends PeakTotal {
    private long count;
    private long bytes;

    /** Counts allocations made; negative figures take back what turned out to be another owner's. */
    void allocated(int allocations, long allocatedBytes) {
        count += allocations;
        bytes += allocatedBytes;
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
