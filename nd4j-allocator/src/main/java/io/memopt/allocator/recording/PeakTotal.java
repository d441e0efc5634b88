// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A sum that knows its largest value since the start and since {@link PeakWindows} last asked.
 *
 * <p>Threading: lock-free. With racing adders a peak may miss by what was in flight, never by more.
 */
final class PeakTotal {
    /** Smaller than any sum. */
    static final long NO_PEAK = Long.MIN_VALUE;

    private final AtomicLong sum = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private final AtomicLong window = new AtomicLong();

    /** Adds; returns the new sum when it is the largest so far, else {@link #NO_PEAK}. */
    long add(long bytes) {
        long now = sum.addAndGet(bytes);
        if (now > window.get()) {
            window.accumulateAndGet(now, Math::max);
        }
        return now > peak.get() && raise(now) ? now : NO_PEAK;
    }

    void subtract(long bytes) {
        sum.addAndGet(-bytes);
    }

    long get() {
        return sum.get();
    }

    long peak() {
        return peak.get();
    }

    long takeWindow() {
        long taken = window.getAndSet(sum.get());
        // What was added between the two calls above is still there but was cut off the new window.
        window.accumulateAndGet(sum.get(), Math::max);
        return taken;
    }

    private boolean raise(long now) {
        long before = peak.getAndAccumulate(now, Math::max);
        return now > before;
    }
}
