// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * Offsets for the buffers of a problem.
 *
 * <p>Threading: immutable.
 */
public final class MemoryPlan {
    private final long[] offsets;
    private final Certificate certificate;

    MemoryPlan(long[] offsets, Certificate certificate) {
        this.offsets = offsets;
        this.certificate = certificate;
    }

    /** Where a buffer begins, in bytes from the start of the arena. */
    public long offset(int buffer) {
        return offsets[buffer];
    }

    /** All offsets, by buffer; a copy. */
    public long[] offsets() {
        return offsets.clone();
    }

    /** Bytes of the arena: the largest offset plus size. */
    public long height() {
        return certificate.height();
    }

    /** How good this is. */
    public Certificate certificate() {
        return certificate;
    }
}
