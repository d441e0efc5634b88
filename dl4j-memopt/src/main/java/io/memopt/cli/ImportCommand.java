// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.cli.format.ImportFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code memopt import}. */
@Command(
        name = "import",
        description = "Makes a trace of a recording by another tool, so that summary, diff and replay work on it.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nExamples:%n",
        footer = {
            "  memopt import snapshot.pickle --format memory_viz -o snapshot.memopt",
            "  memopt import rmm_log.csv --format rmm-csv -o rmm.memopt"
        })
final class ImportCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "What to read.")
    private Path source;

    @Option(names = "--format", required = true, paramLabel = "FORMAT", description = "${COMPLETION-CANDIDATES}")
    private ImportFormat format;

    @Option(
            names = {"-o", "--output"},
            required = true,
            paramLabel = "TRACE",
            description = "Where to; an existing file is overwritten.")
    private Path output;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    ImportCommand() {}

    @Override
    public Integer call() throws IOException {
        try (Progress progress = new Progress()) {
            format.importFile(source, output, progress);
        }
        return ExitCode.OK;
    }
}
