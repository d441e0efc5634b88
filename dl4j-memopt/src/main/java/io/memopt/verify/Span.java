// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Owner;

/** The life of an allocation that holds memory of its own, {@code [startNanos, endNanos)}. Threading: confined. */
final class Span {
    final AllocationKind kind;
    final long bytes;
    final long startNanos;
    /** For whom it was made; changes when the recorder learnt better. */
    Owner owner;

    long endNanos = Long.MAX_VALUE;
    /** True when a deallocator thread freed it, i.e. nobody closed it and the Java collector found it dead. */
    boolean collected;

    Span(AllocationKind kind, Owner owner, long bytes, long startNanos) {
        this.kind = kind;
        this.owner = owner;
        this.bytes = bytes;
        this.startNanos = startNanos;
    }

    /** True for an array that nobody closed and nobody needed. */
    boolean isGarbage() {
        return collected && kind == AllocationKind.DETACHED;
    }
}
