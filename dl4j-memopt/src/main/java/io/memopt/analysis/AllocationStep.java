// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;

/** One allocation of an iteration, by what stays the same from run to run: owner and order, not address or time. */
public record AllocationStep(
        Owner owner, AllocationKind kind, MemorySpace space, long requestedBytes, long roundedBytes) {}
