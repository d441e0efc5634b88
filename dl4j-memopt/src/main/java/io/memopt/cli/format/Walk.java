// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceVisitor;
import io.memopt.analysis.LiveSet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.LongConsumer;

/** One pass over a trace for an export: begins and ends of allocations, and the other events. */
abstract class Walk implements TraceVisitor, LiveSet.Listener {
    private static final int PROGRESS = 0xffff;

    final TraceReader reader;
    final LiveSet live;
    long events;
    long now;

    Walk(TraceReader reader) {
        this.reader = reader;
        this.live = new LiveSet(reader.header().startNanos(), this);
    }

    /** Runs over all events; what {@code began} and {@code ended} throw as unchecked comes out checked again. */
    final void run(LongConsumer progress) throws IOException {
        try {
            reader.read(new Counting(progress));
        } catch (UncheckedIOException e) {
            throw e.getCause() == null ? new IOException(e) : e.getCause();
        }
    }

    @Override
    public void accept(
            int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
        live.accept(code, time, thread, owner, workspace, address, bytes, extra);
    }

    /** The address, or one made up that no other live allocation has when it is unknown. */
    final long addressOf(int slot) {
        long address = live.address(slot);
        return address != 0 ? address : (1L << 56) + ((long) slot << 40);
    }

    @Override
    public void gap(long missing) {
        live.gap(missing);
    }

    /** Keeps the time and the number of events before an event is looked at. */
    private final class Counting implements TraceVisitor {
        private final LongConsumer progress;

        Counting(LongConsumer progress) {
            this.progress = progress;
        }

        @Override
        public void accept(
                int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
            now = time;
            if ((++events & PROGRESS) == 0) {
                progress.accept(events);
            }
            Walk.this.accept(code, time, thread, owner, workspace, address, bytes, extra);
        }

        @Override
        public void gap(long missing) {
            Walk.this.gap(missing);
        }
    }
}
