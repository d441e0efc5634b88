// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * How often a {@link MemorySource} called the driver; each figure only grows.
 *
 * @param obtained calls that obtained addresses or memory
 * @param mapped calls that put memory behind addresses or took it away
 * @param returned calls that gave addresses or memory back
 */
public record SourceCalls(long obtained, long mapped, long returned) {
    /** All of them. */
    public long total() {
        return obtained + mapped + returned;
    }

    /** Sums of two sources. */
    public SourceCalls plus(SourceCalls other) {
        return new SourceCalls(obtained + other.obtained, mapped + other.mapped, returned + other.returned);
    }
}
