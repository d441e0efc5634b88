// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.report.HtmlReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code memopt report}. */
@Command(
        name = "report",
        description = "Writes one HTML file that shows and explains everything; it needs a browser and no network.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nExamples:%n",
        footer = "  memopt report training.memopt -o training.html")
final class ReportCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "TRACE",
            description = "File written by TraceWriter. Damaged parts are left out, and the report says so.")
    private Path trace;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            required = true,
            description = "The report; an existing file is replaced.")
    private Path output;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    ReportCommand() {}

    @Override
    public Integer call() throws IOException {
        try (Progress progress = new Progress()) {
            HtmlReport.write(trace, output, progress);
        }
        spec.commandLine().getOut().println("Wrote " + output);
        return ExitCode.OK;
    }
}
