// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.recording.TraceReader;
import io.memopt.cli.format.ExportFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code memopt export}. */
@Command(
        name = "export",
        description = "Writes a trace in the format of another tool.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nFormats and examples:%n",
        footer = {
            "  perfetto, chrome   time line for ui.perfetto.dev or chrome://tracing",
            "  memory_viz         PyTorch snapshot for pytorch.org/memory_viz",
            "  jfr                for jfr print and JDK Mission Control",
            "  rmm-csv            log of RMM's logging adaptor, for its replay benchmark",
            "  minimalloc-csv     planning problem of MiniMalloc",
            "  memopt export training.memopt --format perfetto -o training.pftrace"
        })
final class ExportCommand implements Callable<Integer> {
    @Parameters(paramLabel = "TRACE", description = "File written by TraceWriter.")
    private Path trace;

    @Option(names = "--format", required = true, paramLabel = "FORMAT", description = "${COMPLETION-CANDIDATES}")
    private ExportFormat format;

    @Option(
            names = {"-o", "--output"},
            required = true,
            paramLabel = "FILE",
            description = "Where to; an existing file is overwritten.")
    private Path output;

    @Mixin
    private TraceInputs inputs;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    ExportCommand() {}

    @Override
    public Integer call() throws IOException {
        try (Progress progress = new Progress();
                TraceReader reader = new TraceReader(trace, inputs.onCorruption())) {
            format.export(reader, output, progress);
        }
        return ExitCode.OK;
    }
}
