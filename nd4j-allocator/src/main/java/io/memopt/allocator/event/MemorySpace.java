// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/** Where bytes physically live. Order is part of the trace format: append only. */
public enum MemorySpace {
    /** Pageable host memory outside the Java heap. */
    HOST,
    /** Memory of an accelerator. */
    DEVICE,
    /** Page-locked host memory that an accelerator can reach directly. */
    PINNED
}
