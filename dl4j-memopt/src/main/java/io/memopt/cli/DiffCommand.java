// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.AnalysisOptions;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import io.memopt.analysis.TraceDiff;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code memopt diff}. */
@Command(
        name = "diff",
        description = "Compares two runs, or two iterations of one: what grew, by how much, why. Matches by layer,"
                + " phase, category, workspace and order, never by address.",
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:within the threshold",
            "1:the reserved peak grew by more than --fail-over",
            "2:usage",
            "3:bad file"
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  memopt diff main.memopt branch.memopt --fail-over 0",
            "  memopt diff training.memopt --iterations 3,50"
        })
final class DiffCommand implements Callable<Integer> {
    private static final int MAX_ROWS = 40;

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "A", description = "Trace of the run before.")
    private Path before;

    @Parameters(index = "1", arity = "0..1", paramLabel = "B", description = "Trace of the run after.")
    private @Nullable Path after;

    @Option(
            names = "--iterations",
            split = ",",
            paramLabel = "I,J",
            description = "Instead of B: two iterations of A, counted from 0 in order of their ends.")
    private List<Integer> iterations = List.of();

    @Option(names = "--json", description = "As one JSON object.")
    private boolean json;

    @Option(
            names = "--fail-over",
            paramLabel = "BYTES",
            description = "Exit with 1 when the reserved peak grew by more than this.")
    private @Nullable Long failOver;

    @Mixin
    private TraceInputs inputs;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    DiffCommand() {}

    @Override
    public Integer call() throws IOException {
        TraceDiff diff = diff();
        PrintWriter out = spec.commandLine().getOut();
        OptionalLong limit = failOver == null ? OptionalLong.empty() : OptionalLong.of(failOver);
        boolean over = limit.isPresent() && diff.reservedGrowth() > limit.getAsLong();
        if (json) {
            AnalysisJson.write(diff, over, out);
            out.println();
        } else {
            text(diff, out);
        }
        if (over) {
            spec.commandLine()
                    .getErr()
                    .println("The reserved peak grew by " + ByteSize.format(diff.reservedGrowth()) + ", allowed are "
                            + ByteSize.format(limit.getAsLong()) + ".");
            return ExitCode.OVER;
        }
        return ExitCode.OK;
    }

    private TraceDiff diff() throws IOException {
        if (iterations.isEmpty() == (after == null)) {
            throw new ParameterException(spec.commandLine(), "Give either a second trace B or --iterations I,J");
        }
        if (after != null) {
            return TraceDiff.ofRuns(analyze(before, List.of(-1)), analyze(after, List.of(-1)));
        }
        if (iterations.size() != 2) {
            throw new ParameterException(
                    spec.commandLine(), "--iterations=" + iterations + ", expected two numbers, e.g. 3,50");
        }
        TraceAnalysis run = analyze(before, iterations);
        for (int iteration : iterations) {
            if (iteration < 0 || iteration >= run.iterations().size()) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--iterations: " + iteration + " is not in " + before + ", which has "
                                + Count.of(run.iterations().size(), "iteration") + ", counted from 0");
            }
        }
        return TraceDiff.ofIterations(run, iterations.get(0), iterations.get(1));
    }

    private TraceAnalysis analyze(Path trace, List<Integer> profiles) throws IOException {
        try (Progress progress = new Progress()) {
            return TraceAnalyzer.analyze(
                    trace,
                    inputs.onCorruption(),
                    AnalysisOptions.DEFAULTS.withProgress(progress).withProfiles(profiles));
        }
    }

    private void text(TraceDiff diff, PrintWriter out) {
        Table totals = new Table("", "before", "after", "change");
        totals.row(
                "reserved peak",
                bytes(diff.reservedBefore()),
                bytes(diff.reservedAfter()),
                signed(diff.reservedGrowth()));
        totals.row(
                "in use peak",
                bytes(diff.inUseBefore()),
                bytes(diff.inUseAfter()),
                signed(diff.inUseAfter() - diff.inUseBefore()));
        out.print(totals.render("Space " + Names.of(diff.space())));
        if (diff.rows().isEmpty()) {
            out.println(nothing(diff));
            return;
        }
        boolean one =
                diff.rows().stream().map(row -> row.key().network()).distinct().count() == 1;
        Table rows = new Table(
                        Names.NETWORK,
                        "layer",
                        "phase",
                        "category",
                        "workspace",
                        "at peak",
                        "in use peak",
                        "per iteration",
                        "why")
                .hide(Names.NETWORK, one);
        diff.rows().stream()
                .limit(MAX_ROWS)
                .forEach(row -> rows.row(
                        Names.network(row.key().network()),
                        Names.layer(row.key().layer()),
                        Names.of(row.key().phase()),
                        Names.of(row.key().category()),
                        row.key().workspace(),
                        signed(row.atPeakAfter() - row.atPeakBefore()),
                        signed(row.inUseAfter() - row.inUseBefore()),
                        signed(row.allocatedAfter() - row.allocatedBefore()),
                        row.why()));
        out.print(rows.render("What changed"));
        if (diff.rows().size() > MAX_ROWS) {
            out.println("... and " + (diff.rows().size() - MAX_ROWS) + " more; --json has all");
        }
    }

    /** Of two iterations nobody knows what was held before them is made of, so that totals may differ all the same. */
    private String nothing(TraceDiff diff) {
        boolean equal = diff.reservedGrowth() == 0 && diff.inUseAfter() == diff.inUseBefore();
        if (after != null) {
            return "No difference in what the peaks are made of, nor in what an iteration allocates.";
        }
        return equal
                ? "No difference in what the two iterations allocate, nor in what is held meanwhile."
                : "The two iterations allocate the same. What differs was held before them: compare two traces, or see"
                        + " growth in the summary.";
    }

    private static String bytes(long bytes) {
        return ByteSize.format(bytes);
    }

    private static String signed(long bytes) {
        return (bytes > 0 ? "+" : "") + ByteSize.scaled(bytes);
    }
}
