// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.function.LongSupplier;

/** Until when there is time, by a clock in nanoseconds whose start is arbitrary; an interrupt ends it as well. */
final class Deadline {
    private final LongSupplier clock;
    private final long start;
    private final long length;

    Deadline(LongSupplier clock, long nanos) {
        this.clock = clock;
        start = clock.getAsLong();
        length = nanos;
    }

    long elapsedNanos() {
        return clock.getAsLong() - start;
    }

    boolean passed() {
        return elapsedNanos() >= length || Thread.currentThread().isInterrupted();
    }
}
