// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.recording.TraceVisitor;
import java.util.function.LongConsumer;

/** Tells how many events passes over a trace have read. */
final class Counted {
    private static final long EVERY = 1 << 16;

    private final LongConsumer progress;
    private long events;

    /** Goes on from {@code events}. */
    Counted(LongConsumer progress, long events) {
        this.progress = progress;
        this.events = events;
    }

    /** Hands everything on. */
    TraceVisitor over(TraceVisitor visitor) {
        return new TraceVisitor() {
            @Override
            public void accept(
                    int code,
                    long timeNanos,
                    long thread,
                    int owner,
                    int workspace,
                    long address,
                    long bytes,
                    long extra) {
                visitor.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
                if (++events % EVERY == 0) {
                    progress.accept(events);
                }
            }

            @Override
            public void gap(long lost) {
                visitor.gap(lost);
            }
        };
    }
}
