// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.cli.format.ExportFormat;
import io.memopt.cli.format.ImportFormat;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Entry of {@code memopt-cli.jar}. */
@Command(
        name = "memopt",
        description = "Explains where the memory of a recorded Deeplearning4j run went.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            SummaryCommand.class,
            ReportCommand.class,
            DiffCommand.class,
            ReplayCommand.class,
            ExportCommand.class,
            ImportCommand.class,
            PlanCommand.class
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done",
            "1:a threshold was exceeded (diff --fail-over, plan --capacity)",
            "2:the command line makes no sense",
            "3:a file cannot be read or written"
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  memopt summary training.memopt",
            "  memopt report training.memopt -o training.html",
            "  memopt diff before.memopt after.memopt --fail-over 1048576",
            "  memopt replay training.memopt --allocator caching,buddy",
            "  memopt export training.memopt --format chrome -o training.json",
            "  memopt plan buffers.csv --capacity 1048576 -o planned.csv",
            "A trace is made by MemOpt.attach(net, MemOptConfig.builder().trace(path).build())."
        })
public final class Main implements Runnable {
    @Spec
    private CommandSpec spec;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    Main() {}

    /** Runs a command line and ends the JVM with its exit code. */
    public static void main(String[] args) {
        silenceLogging();
        System.exit(run(
                new PrintWriter(System.out, true, StandardCharsets.UTF_8),
                new PrintWriter(System.err, true, StandardCharsets.UTF_8),
                args));
    }

    /** Runs a command line; returns its exit code. */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        CommandLine line = new CommandLine(new Main())
                .setOut(out)
                .setErr(err)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .registerConverter(ExportFormat.class, text -> constant(ExportFormat.values(), text))
                .registerConverter(ImportFormat.class, text -> constant(ImportFormat.values(), text))
                .setExecutionExceptionHandler(Main::failed);
        int code = line.execute(args);
        out.flush();
        return code;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing COMMAND");
    }

    private static int failed(Exception e, CommandLine line, CommandLine.ParseResult result) throws Exception {
        if (e instanceof IOException || e instanceof UncheckedIOException) {
            boolean wrapped = e instanceof UncheckedIOException;
            line.getErr().println(text(wrapped && e.getCause() instanceof Exception cause ? cause : e));
            return ExitCode.FILE;
        }
        throw e;
    }

    /** The constant that prints itself as {@code text}. */
    private static <E extends Enum<E>> E constant(E[] constants, String text) {
        for (E constant : constants) {
            if (constant.toString().equalsIgnoreCase(text)) {
                return constant;
            }
        }
        throw new TypeConversionException("expected one of " + Arrays.toString(constants) + " but was " + text);
    }

    /** The exceptions of this project say everything, to programmers; those of the JDK often only name the file. */
    private static String text(Exception e) {
        String message = String.valueOf(e.getMessage());
        if (e instanceof FileSystemException file) {
            String reason = file.getReason() == null ? why(file) : file.getReason();
            return "Cannot use file " + file.getFile() + ": " + reason
                    + ". Check the path, and who may read and write there.";
        }
        return message.replace("read with OnCorruption.SKIP", "use --skip-damage");
    }

    private static String why(FileSystemException e) {
        if (e instanceof NoSuchFileException) {
            return "there is no such file or folder";
        }
        return e instanceof AccessDeniedException
                ? "access is denied"
                : e.getClass().getSimpleName();
    }

    /** SLF4J 1.7 prints three lines when nobody wants its messages. */
    private static void silenceLogging() {
        PrintStream err = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            LoggerFactory.getILoggerFactory();
        } finally {
            System.setErr(err);
        }
    }
}
