// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

/**
 * Times on the page: nanoseconds since the start of the trace, one for each event. Events whose times are equal or step
 * back (see {@code TraceVisitor}) move on by a nanosecond, so that every moment between two events has a time of its own.
 */
final class PageClock {
    private final long startNanos;
    private long last = -1;

    PageClock(long startNanos) {
        this.startNanos = startNanos;
    }

    /** The time of the next event. */
    long next(long timeNanos) {
        last = Math.max(timeNanos - startNanos, last + 1);
        return last;
    }

    /** The time of the latest event; -1 before the first. */
    long last() {
        return last;
    }
}
