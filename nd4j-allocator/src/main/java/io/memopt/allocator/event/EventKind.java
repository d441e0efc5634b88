// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/** Discriminator of {@link MemoryEvent}. Order is part of the trace format: append only. */
public enum EventKind {
    ALLOCATE,
    FREE,
    TRANSFER,
    SCOPE_ENTER,
    SCOPE_RELEASE,
    CONTEXT,
    ITERATION,
    RECLASSIFY,
    ALLOCATION_FAILURE,
    GARBAGE_COLLECTION,
    LAST_USE,
    ORIGIN,
    PROCESS
}
