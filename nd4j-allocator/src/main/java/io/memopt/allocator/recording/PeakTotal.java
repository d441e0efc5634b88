// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A sum that knows its largest value since the start and since {@link PeakWindows} last asked.
 *
 * <p>Threading: written under the lock of the {@link Journals}, without fences; {@link #get} and {@link #peak} may be read at any time.
 */
class PeakTotal {
    /** Smaller than any sum. */
    static final long NO_PEAK = Long.MIN_VALUE;

    private static final VarHandle SUM = handle("sum");
    private static final VarHandle PEAK = handle("peak");

    private long sum;
    private long peak;
    private long window;

    /** Adds; returns the new sum when it is the largest so far, else {@link #NO_PEAK}. */
    final long add(long bytes) {
        long now = sum + bytes;
        SUM.setOpaque(this, now);
        window = Math.max(window, now);
        if (now <= peak) {
            return NO_PEAK;
        }
        PEAK.setOpaque(this, now);
        return now;
    }

    final void subtract(long bytes) {
        SUM.setOpaque(this, sum - bytes);
    }

    final long get() {
        return (long) SUM.getOpaque(this);
    }

    final long peak() {
        return (long) PEAK.getOpaque(this);
    }

    /** The largest value since the last call; at least what it is now. */
    final long takeWindow() {
        long taken = window;
        window = sum;
        return taken;
    }

    private static VarHandle handle(String field) {
        try {
            return MethodHandles.lookup().findVarHandle(PeakTotal.class, field, long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
