// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.Settings;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceWriter;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.analysis.AnalysisOptions;
import io.memopt.analysis.Measure;
import io.memopt.analysis.Peak;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/** Runs iterations, records every event of them, and says what they took. */
final class MemoryRun {
    /** Enough for bursts of a million events; a recording that loses one is worth nothing here. */
    private static final int QUEUE_BLOCKS = 256;

    private final Model model;
    private final int warmup;
    private final int iterations;
    private final boolean scopeCheck;
    private final Steps steps;
    private Optional<List<ScopeFinding>> staleReads = Optional.empty();
    private @Nullable HeldMemory afterWarmup;
    private HeldMemory atEnd = new HeldMemory();
    private long flatHost;
    private long flatDevice;

    MemoryRun(Model model, int warmup, int iterations, boolean scopeCheck) {
        this.model = model;
        this.warmup = warmup;
        this.iterations = iterations;
        this.scopeCheck = scopeCheck;
        this.steps = new Steps(iterations, warmup);
    }

    /**
     * Runs.
     *
     * @param prepare what happens before each iteration and is no part of it
     * @param keep where the recording stays; null for nowhere
     * @throws IllegalStateException if observation is switched off, or the recording has gaps
     */
    RunRecord run(Runnable prepare, Runnable step, @Nullable Path keep) {
        if (!Settings.enabled()) {
            throw new IllegalStateException("Nothing can be asserted about memory while the system property "
                    + Settings.ENABLED + " is false; remove it for tests.");
        }
        try (ObservedNetwork observed = new ObservedNetwork(model)) {
            Path file = keep == null ? Files.createTempFile("memopt-verify", ".memopt") : keep;
            try {
                record(observed, file, prepare, step);
                return read(observed, file);
            } finally {
                if (keep == null) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The run cannot be recorded: " + e.getMessage(), e);
        }
    }

    private void record(ObservedNetwork observed, Path file, Runnable prepare, Runnable step) throws IOException {
        MemoryLedger ledger = observed.ledger();
        Models.destroyClosedWorkspaces();
        flatHost = observed.flatBytes(MemorySpace.HOST);
        flatDevice = observed.flatBytes(MemorySpace.DEVICE);
        TraceOptions options = TraceOptions.DEFAULTS
                .withQueueBlocks(QUEUE_BLOCKS)
                .withProperty("dl4jVersion", Nd4jFacts.version())
                .withProperty("backend", Nd4jFacts.backend());
        try (TraceWriter writer = new TraceWriter(file, ledger.owners(), ledger.workspaces(), options)) {
            ledger.addSink(writer);
            try {
                checked(() -> iterate(ledger, prepare, step));
            } finally {
                ledger.removeSink(writer);
            }
        }
    }

    private void checked(Runnable run) {
        if (!scopeCheck) {
            run.run();
            return;
        }
        try (StaleReads reads = new StaleReads()) {
            run.run();
            staleReads = Optional.of(reads.findings());
        }
    }

    private void iterate(MemoryLedger ledger, Runnable prepare, Runnable step) {
        long begin = System.nanoTime();
        for (int i = 0; i < iterations; i++) {
            if (i == warmup) {
                afterWarmup = HeldMemory.after(ledger, begin);
            }
            prepare.run();
            steps.run(i, step);
        }
        atEnd = HeldMemory.after(ledger, begin);
    }

    private RunRecord read(ObservedNetwork observed, Path file) throws IOException {
        try (TraceReader reader = new TraceReader(file)) {
            TraceAnalysis analysis = TraceAnalyzer.analyze(reader, AnalysisOptions.DEFAULTS);
            if (analysis.facts().lostEvents() > 0) {
                throw new IllegalStateException(analysis.facts().lostEvents() + " of "
                        + Count.was(analysis.facts().events(), "event")
                        + " lost, so nothing can be asserted. Record to a faster"
                        + " disk (-Djava.io.tmpdir, or recordingTo), or run fewer iterations.");
            }
            MemorySpace space = analysis.focus();
            List<Span> spans = SpanReader.read(reader, space);
            List<Span> taken = steps.afterWarmup(spans);
            List<Span> garbage = taken.stream().filter(Span::isGarbage).toList();
            Optional<Peak> peak = analysis.peak(Measure.RESERVED, space);
            Optional<Peak> used = analysis.peak(Measure.IN_USE, space);
            long flat = space == MemorySpace.DEVICE ? flatDevice : flatHost;
            HeldMemory before = afterWarmup == null ? new HeldMemory() : afterWarmup;
            MemoryFigures figures = new MemoryFigures(
                    space,
                    iterations,
                    warmup,
                    flat + analysis.peakBytes(Measure.RESERVED, space),
                    flat + steps.promptPeak(spans),
                    sum(garbage) / (iterations - warmup),
                    sum(taken) / (iterations - warmup),
                    atEnd.bytes(),
                    atEnd.bytes() - before.bytes());
            return new RunRecord(
                    observed.name(),
                    Models.describe(model),
                    figures,
                    flat,
                    peak,
                    iterationOf(peak),
                    used,
                    iterationOf(used),
                    taken,
                    garbage,
                    atEnd.growthSince(before),
                    staleReads,
                    analysis.advice());
        }
    }

    private int iterationOf(Optional<Peak> peak) {
        return peak.map(p -> steps.at(p.timeNanos())).orElse(0);
    }

    private static long sum(List<Span> spans) {
        return spans.stream().mapToLong(span -> span.bytes).sum();
    }
}
