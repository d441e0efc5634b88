// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * Settings of a {@link MemoryPool}.
 *
 * @param limitBytes most bytes to hold from the source at any time, at least one page; {@link Long#MAX_VALUE} for no limit
 * @param retainBytes most unused bytes to keep when memory is freed; what goes beyond is given back at the next
 *     {@link MemoryPool#free} that finds the device through with it
 */
public record PoolOptions(long limitBytes, long retainBytes) {
    /** No limit; what was freed is kept. */
    public static final PoolOptions UNLIMITED = new PoolOptions(Long.MAX_VALUE, Long.MAX_VALUE);

    public PoolOptions {
        if (limitBytes <= 0) {
            throw new IllegalArgumentException("limitBytes=" + limitBytes + ", expected more than 0");
        }
        if (retainBytes < 0) {
            throw new IllegalArgumentException("retainBytes=" + retainBytes + ", expected at least 0");
        }
    }

    /** The same with another limit. */
    public PoolOptions withLimit(long bytes) {
        return new PoolOptions(bytes, retainBytes);
    }

    /** The same with another bound on what is kept unused. */
    public PoolOptions withRetained(long bytes) {
        return new PoolOptions(limitBytes, bytes);
    }
}
