// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.analysis.AnalysisOptions;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code memopt summary}. */
@Command(
        name = "summary",
        description = "Says where memory went: peaks and what they were made of, waste, growth, advice.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nExamples:%n",
        footer = {"  memopt summary training.memopt", "  memopt summary training.memopt --json | jq .peaks[0]"})
final class SummaryCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "TRACE", description = "File written by TraceWriter.")
    private Path trace;

    @Option(names = "--json", description = "Everything, as one JSON object.")
    private boolean json;

    @Mixin
    private TraceInputs inputs;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    SummaryCommand() {}

    @Override
    public Integer call() throws IOException {
        TraceAnalysis analysis;
        try (Progress progress = new Progress()) {
            analysis = TraceAnalyzer.analyze(
                    trace, inputs.onCorruption(), AnalysisOptions.DEFAULTS.withProgress(progress));
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            AnalysisJson.write(analysis, out);
            out.println();
        } else {
            out.print(AnalysisText.render(analysis));
        }
        return ExitCode.OK;
    }
}
