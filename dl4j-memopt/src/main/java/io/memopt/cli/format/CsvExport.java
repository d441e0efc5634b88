// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.recording.TraceReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.function.LongConsumer;

/**
 * Arrays as lines. Workspace blocks are left out: their arrays lie in them, and would count twice.
 *
 * <p>RMM: {@code Thread,Time,Action,Pointer,Size,Stream} with times to the microsecond in UTC and sizes as requested.
 * MiniMalloc: a buffer is live on {@code [lower, upper)}, numbers of events; sizes as taken.
 */
final class CsvExport {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC);

    private final TraceReader reader;
    private final Writer out;

    CsvExport(TraceReader reader, OutputStream out) {
        this.reader = reader;
        this.out = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.US_ASCII), 1 << 16);
    }

    void writeRmm(LongConsumer progress) throws IOException {
        out.write("Thread,Time,Action,Pointer,Size,Stream\n");
        new Walk(reader) {
            @Override
            public void began(int slot) {
                row(slot, live.thread(slot), "allocate", now);
            }

            @Override
            public void ended(int slot, long time, long thread) {
                row(slot, thread, "free", time);
            }

            private void row(int slot, long thread, String action, long time) {
                if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
                    line(Math.max(0, thread) + "," + TIME.format(reader.header().wallClock(time)) + "," + action + ",0x"
                            + Long.toHexString(addressOf(slot)) + "," + live.requestedBytes(slot) + ",0x0");
                }
            }
        }.run(progress);
        out.flush();
    }

    void writeMiniMalloc(LongConsumer progress) throws IOException {
        out.write("id,lower,upper,size\n");
        Buffers walk = new Buffers();
        walk.run(progress);
        for (int slot = 0; slot < walk.live.slotLimit(); slot++) {
            if (walk.live.isLive(slot)) {
                walk.buffer(slot, walk.live.event() + 1);
            }
        }
        out.flush();
    }

    private void line(String text) {
        try {
            out.write(text);
            out.write('\n');
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lives of arrays, written when they end. */
    private final class Buffers extends Walk {
        Buffers() {
            super(CsvExport.this.reader);
        }

        @Override
        public void ended(int slot, long time, long thread) {
            buffer(slot, live.event());
        }

        void buffer(int slot, long upper) {
            if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK && live.roundedBytes(slot) > 0) {
                long lower = live.startEvent(slot);
                line("b" + lower + "," + lower + "," + upper + "," + live.roundedBytes(slot));
            }
        }
    }
}
