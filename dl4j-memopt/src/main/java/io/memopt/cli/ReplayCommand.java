// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.analysis.Measure;
import io.memopt.analysis.TraceAnalyzer;
import io.memopt.analysis.replay.Allocators;
import io.memopt.analysis.replay.ReplayRow;
import io.memopt.analysis.replay.TraceReplay;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code memopt replay}. */
@Command(
        name = "replay",
        description = "Plays the arrays of a trace to simulated allocators and compares what each would hold.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nExamples:%n",
        footer = {"  memopt replay training.memopt", "  memopt replay training.memopt --allocator caching,buddy"})
final class ReplayCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "TRACE", description = "File written by TraceWriter.")
    private Path trace;

    @Option(
            names = "--allocator",
            split = ",",
            paramLabel = "LIST",
            description = "Some of lower-bound, nd4j (as recorded), planned, bump, caching, bfc, stream-ordered, buddy."
                    + " All when left out.")
    private List<String> allocators = Allocators.names();

    @Option(names = "--space", description = "HOST, DEVICE or PINNED. The one that was used most when left out.")
    private @Nullable MemorySpace space;

    @Option(names = "--json", description = "As a JSON array.")
    private boolean json;

    @Mixin
    private TraceInputs inputs;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    ReplayCommand() {}

    @Override
    public Integer call() throws IOException {
        for (String name : allocators) {
            if (!Allocators.names().contains(name)) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--allocator=" + name + ", expected some of " + String.join(",", Allocators.names()));
            }
        }
        MemorySpace played;
        List<ReplayRow> rows;
        try (Progress progress = new Progress();
                TraceReader reader = new TraceReader(trace, inputs.onCorruption())) {
            played = space == null ? TraceAnalyzer.focusOf(reader, progress) : space;
            rows = TraceReplay.replay(reader, allocators, played, progress);
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            AnalysisJson.write(rows, out);
            out.println();
            return ExitCode.OK;
        }
        Table table = new Table(
                "allocator",
                "reserved peak",
                "",
                "# filled, . not",
                "rounding",
                "holes",
                "largest hole",
                "driver calls",
                "assumes");
        long recorded = rows.stream()
                .filter(row -> row.allocator().equals(Allocators.RECORDED))
                .mapToLong(ReplayRow::peakReservedBytes)
                .findFirst()
                .orElse(0);
        ReplayBar bars = new ReplayBar(rows);
        for (ReplayRow row : rows) {
            table.row(
                    row.allocator(),
                    ByteSize.format(row.peakReservedBytes()),
                    recorded == 0 ? "" : percent((double) row.peakReservedBytes() / recorded),
                    bars.of(row),
                    percent(row.internalFragmentation()),
                    percent(row.externalFragmentation()),
                    row.largestHoleAtPeakBytes() == 0 ? "" : ByteSize.scaled(row.largestHoleAtPeakBytes()),
                    String.format(Locale.ROOT, "%,d", row.driverCalls()),
                    row.remark());
        }
        out.print(table.render("Space " + Names.of(played) + "; shares are of what is held at the peak ("
                + Names.of(Measure.RESERVED) + ")"));
        return ExitCode.OK;
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }
}
