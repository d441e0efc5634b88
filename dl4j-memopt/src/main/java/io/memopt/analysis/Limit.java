// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.recording.TraceVisitor;

/** Hands on the first events only. */
final class Limit implements TraceVisitor {
    private final TraceVisitor next;
    private long left;

    Limit(TraceVisitor next, long events) {
        this.next = next;
        this.left = events;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        if (left > 0) {
            left--;
            next.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
        }
    }

    @Override
    public void gap(long events) {
        if (left > 0) {
            next.gap(events);
        }
    }
}
