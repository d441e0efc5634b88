// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import io.memopt.allocator.event.Count;
import java.util.Locale;

/** A {@link MemoryPool} can neither find nor obtain a block: its byte limit is reached, or the device has no more. */
public final class PoolExhaustedException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private static final double MIB = 1 << 20;

    private final long requestedBytes;
    private final long limitBytes;

    PoolExhaustedException(String pool, long requested, long limit, PoolStatistics now) {
        super(message(pool, requested, limit, now));
        this.requestedBytes = requested;
        this.limitBytes = limit;
    }

    /** What was asked for. */
    public long requestedBytes() {
        return requestedBytes;
    }

    /** The limit of the pool; {@link Long#MAX_VALUE} if it has none and the device is out of memory. */
    public long limitBytes() {
        return limitBytes;
    }

    private static String message(String pool, long requested, long limit, PoolStatistics now) {
        boolean limited = limit != Long.MAX_VALUE;
        return String.format(
                Locale.ROOT,
                "Failed to allocate %s from memory pool %s: in use %s in %s, reserved %s, largest free block %s, %s."
                        + " %s",
                mib(requested),
                pool,
                mib(now.liveBytes()),
                Count.of(now.liveBlocks(), "block"),
                mib(now.reservedBytes()),
                mib(now.largestFreeBytes()),
                limited ? "limit " + mib(limit) : "and the device has no more",
                limited
                        ? "Raise the limit or train with smaller batches."
                        : "Train with smaller batches, or end what else uses the device.");
    }

    private static String mib(long bytes) {
        return String.format(Locale.ROOT, "%.1f MiB (%d B)", bytes / MIB, bytes);
    }
}
