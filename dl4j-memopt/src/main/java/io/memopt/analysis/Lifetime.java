// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.OptionalLong;

/**
 * One allocation from its first moment to its last, {@code [startNanos, endNanos)}.
 *
 * @param address start address, 0 if unknown
 * @param requestedBytes what the caller asked for
 * @param roundedBytes what was taken
 * @param endNanos absent when it was live at the end of the trace
 * @param owner at the end of the life, i.e. after a change of mind
 * @param workspace instance that it belongs to, 0 for none
 * @param thread number of the allocating thread
 */
public record Lifetime(
        AllocationKind kind,
        MemorySpace space,
        long address,
        long requestedBytes,
        long roundedBytes,
        long startNanos,
        OptionalLong endNanos,
        Owner owner,
        int workspace,
        long thread) {}
