// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * A sum that knows its largest value since the start and since {@link PeakWindows} last asked.
 *
 * <p>Plain fields with updaters, so that all figures lie together: the hot path meets cold caches.
 *
 * <p>Threading: lock-free. With racing adders a peak may miss by what was in flight, never by more.
 */
class PeakTotal {
    /** Smaller than any sum. */
    static final long NO_PEAK = Long.MIN_VALUE;

    private static final AtomicLongFieldUpdater<PeakTotal> SUM =
            AtomicLongFieldUpdater.newUpdater(PeakTotal.class, "sum");

    private static final AtomicLongFieldUpdater<PeakTotal> PEAK =
            AtomicLongFieldUpdater.newUpdater(PeakTotal.class, "peak");

    private static final AtomicLongFieldUpdater<PeakTotal> WINDOW =
            AtomicLongFieldUpdater.newUpdater(PeakTotal.class, "window");

    private volatile long sum;
    private volatile long peak;
    private volatile long window;

    /** Adds; returns the new sum when it is the largest so far, else {@link #NO_PEAK}. */
    long add(long bytes) {
        long now = SUM.addAndGet(this, bytes);
        if (now > window) {
            WINDOW.accumulateAndGet(this, now, Math::max);
        }
        return now > peak && raise(now) ? now : NO_PEAK;
    }

    void subtract(long bytes) {
        SUM.addAndGet(this, -bytes);
    }

    long get() {
        return sum;
    }

    long peak() {
        return peak;
    }

    long takeWindow() {
        long taken = WINDOW.getAndSet(this, sum);
        // What was added between the two calls above is still there but was cut off the new window.
        WINDOW.accumulateAndGet(this, sum, Math::max);
        return taken;
    }

    private boolean raise(long now) {
        long before = PEAK.getAndAccumulate(this, now, Math::max);
        return now > before;
    }
}
