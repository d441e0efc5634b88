// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.recording.TraceReader;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.LongConsumer;

/** Formats that a trace can be written in. */
public enum ExportFormat {
    /** Protocol buffers of Perfetto, for ui.perfetto.dev. */
    PERFETTO {
        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
            new TimelineExport(reader, new PerfettoTimeline(out)).write(progress);
        }
    },
    /** Trace Event Format, for chrome://tracing and ui.perfetto.dev. */
    CHROME {
        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
            new TimelineExport(reader, new ChromeTimeline(out)).write(progress);
        }
    },
    /** PyTorch's memory snapshot, for pytorch.org/memory_viz. */
    MEMORY_VIZ {
        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
            MemoryVizExport.write(reader, out, progress);
        }
    },
    /** Java Flight Recorder, for {@code jfr print} and JDK Mission Control. */
    JFR {
        @Override
        public void export(TraceReader reader, Path target, LongConsumer progress) throws IOException {
            JfrExport.write(reader, target, progress);
        }

        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) {
            throw new UnsupportedOperationException("the recorder writes its files itself");
        }
    },
    /** Log of RMM's logging resource adaptor. */
    RMM_CSV {
        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
            new CsvExport(reader, out).writeRmm(progress);
        }
    },
    /** Problem of MiniMalloc: {@code id,lower,upper,size}. */
    MINIMALLOC_CSV {
        @Override
        void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
            new CsvExport(reader, out).writeMiniMalloc(progress);
        }
    };

    /** The name on the command line. */
    @Override
    public String toString() {
        return this == MEMORY_VIZ
                ? "memory_viz"
                : name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Writes all that this format can express; an existing file is overwritten. */
    public void export(TraceReader reader, Path target, LongConsumer progress) throws IOException {
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(target), 1 << 16)) {
            write(reader, out, progress);
        }
    }

    abstract void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException;
}
