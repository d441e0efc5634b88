// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.AvailableMemory;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.Optional;

/**
 * How many bytes ND4J may hold, as far as failures tell: an exact limit where one holds; otherwise less than what was held with the
 * refused request, and no more than the system could hand out beyond what was held then.
 *
 * @param bytes most that can be held
 * @param exact whether a limit says so
 */
record Capacity(long bytes, boolean exact) {

    static Capacity after(FailureMoment moment) {
        Optional<AllocationLimit> limit =
                MemoryHooks.currentLimit().filter(its -> its.limitBytes() != AllocationLimit.NONE);
        if (limit.isPresent() && limit.get().space() == moment.space()) {
            return new Capacity(limit.get().limitBytes(), true);
        }
        long held = moment.reservedBytes();
        long refused = held + moment.requestedBytes() - 1;
        long handedOut = held + AvailableMemory.bytes().orElse(Long.MAX_VALUE / 2);
        return new Capacity(Math.max(held, Math.min(refused, handedOut)), false);
    }

    /** Bytes that can still be taken. */
    long room(MemoryLedger ledger, FailureMoment moment) {
        return bytes - ledger.reservedBytes(moment.space());
    }

    /** Both hold. */
    Capacity and(Capacity other) {
        if (exact || other.exact) {
            return exact ? this : other;
        }
        return bytes <= other.bytes ? this : other;
    }
}
