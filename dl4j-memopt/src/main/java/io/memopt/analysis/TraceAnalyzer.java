// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceReader.OnCorruption;
import io.memopt.allocator.recording.TraceSummary;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Analyses a trace in two passes: the first finds when the peaks are, the second what was alive then. Reads events one by
 * one: memory is bounded by the allocations alive at the same time, the owners, and the training iterations, not by the
 * length of the trace.
 */
public final class TraceAnalyzer {
    private TraceAnalyzer() {}

    /** As {@link #analyze(Path, OnCorruption, AnalysisOptions)}; damage is an error. */
    public static TraceAnalysis analyze(Path trace) throws IOException {
        return analyze(trace, OnCorruption.FAIL, AnalysisOptions.DEFAULTS);
    }

    /**
     * Analyses a file.
     *
     * @throws io.memopt.allocator.recording.TraceFormatException if it is no trace, or damaged and damage is not skipped
     */
    public static TraceAnalysis analyze(Path trace, OnCorruption onCorruption, AnalysisOptions options)
            throws IOException {
        try (TraceReader reader = new TraceReader(trace, onCorruption)) {
            return analyze(reader, options);
        }
    }

    /** Analyses what {@code reader} reads; it is read twice and not closed. */
    public static TraceAnalysis analyze(TraceReader reader, AnalysisOptions options) throws IOException {
        FirstPass first = new FirstPass(reader, options);
        TraceSummary summary = reader.read(first);
        first.workspaces.all().forEach(WorkspaceBook.Entry::close);
        first.arenas.close();
        SecondPass second = new SecondPass(reader, first, options);
        // A file that still grows has more events by now; all passes must see the same ones.
        reader.read(new Limit(second, first.events));
        return assemble(reader, summary, first, second);
    }

    /** The space that an analysis would be about, at the price of one pass. */
    public static MemorySpace focusOf(TraceReader reader, LongConsumer progress) throws IOException {
        FirstPass first = new FirstPass(reader, AnalysisOptions.DEFAULTS.withProgress(progress));
        reader.read(first);
        return first.focus();
    }

    private static TraceAnalysis assemble(
            TraceReader reader, TraceSummary summary, FirstPass first, SecondPass second) {
        MemorySpace focus = first.focus();
        List<Growth> growth = second.growth();
        GcRow collections = second.collections();
        return new TraceAnalysis(
                facts(reader, summary, first),
                focus,
                second.peaks(),
                second.byLayer.rows(),
                second.byCategory.rows(),
                second.byWorkspace.rows(),
                second.byOwner.rows(),
                first.workspaces.rows(first.events == 0 ? 0 : first.lastNanos),
                second.changes(),
                second.iterations(),
                second.profiles(),
                second.waste(),
                second.liveness(),
                second.fragmentation(),
                growth,
                second.suspects(growth),
                second.process.row(),
                second.transfers(),
                second.transferBins(),
                collections,
                second.failures(),
                second.adviser.advice(
                        first.tops[Measure.RESERVED.ordinal()][focus.ordinal()].bytes,
                        second.live.reservedBytes(focus),
                        collections));
    }

    private static TraceFacts facts(TraceReader reader, TraceSummary summary, FirstPass first) {
        boolean empty = first.events == 0;
        long start = reader.header().startNanos();
        return new TraceFacts(
                reader.header().start(),
                start,
                empty ? start : first.firstNanos,
                empty ? start : first.lastNanos,
                summary.events(),
                summary.lostEvents(),
                summary.isComplete(),
                first.live.isExact(),
                first.live.unmatchedFrees(),
                Facts.of(reader.header().properties()));
    }
}
