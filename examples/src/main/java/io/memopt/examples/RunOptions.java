// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that every example has. */
final class RunOptions {
    /** Of a command line that was not understood. */
    static final int USAGE = 2;

    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init") // picocli sets it before anybody reads it
    private CommandSpec command;

    @Option(names = "--batch", paramLabel = "N", description = "Examples in a batch (${DEFAULT-VALUE}).")
    private int batch;

    @Option(names = "--epochs", paramLabel = "N", description = "Passes over the training data (${DEFAULT-VALUE}).")
    private int epochs;

    @Option(names = "--iterations", paramLabel = "N", description = "End after so many batches, if that is sooner.")
    private int iterations = Integer.MAX_VALUE;

    @Option(
            names = "--port",
            paramLabel = "PORT",
            description = "Metrics are at http://localhost:PORT/metrics (${DEFAULT-VALUE}); 0 takes any free one.")
    private int port = 9464;

    @Option(
            names = "--keep-alive",
            paramLabel = "SECONDS",
            description = "Serve metrics for so long after the training, for a look around.")
    private int keepAliveSeconds;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Where summary.json, trace.memopt and metrics.txt go, made if missing (${DEFAULT-VALUE}).")
    private Path out = Path.of("examples", "target", "memopt");

    @Option(
            names = "--trace",
            negatable = true,
            defaultValue = "true",
            fallbackValue = "true",
            description = "Record every allocation in trace.memopt (on unless --no-trace).")
    private boolean trace;

    @Option(names = "--uses", description = "Record in the trace when each array was last used.")
    private boolean uses;

    @Option(
            names = "--scope-check",
            description = "Look for arrays that are used after their workspace moved on; slower.")
    private boolean scopeCheck;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this text and end.")
    @SuppressWarnings("UnusedVariable") // picocli looks at it
    private boolean help;

    RunOptions(int batch, int epochs) {
        this.batch = batch;
        this.epochs = epochs;
    }

    /** Runs an example and gives the exit code: 0 good, 1 failed, {@value #USAGE} wrong options. */
    static int execute(Callable<Integer> example, String... args) {
        return commandLine(example).execute(args);
    }

    static CommandLine commandLine(Callable<Integer> example) {
        CommandLine commandLine = new CommandLine(example);
        commandLine.setParameterExceptionHandler((failure, args) -> {
            PrintWriter err = failure.getCommandLine().getErr();
            err.println(failure.getMessage());
            CommandLine.UnmatchedArgumentException.printSuggestions(failure, err);
            err.println();
            failure.getCommandLine().usage(err);
            return USAGE;
        });
        commandLine.setExecutionExceptionHandler((failure, failed, parsed) -> {
            if (failure instanceof IOException) {
                failed.getErr().println(failed.getCommandName() + ": " + failure.getMessage());
                return 1;
            }
            throw failure;
        });
        return commandLine;
    }

    /**
     * Refuses numbers out of range; to be called before anything is done with them.
     *
     * @param available how many {@code what} there are to fill a batch
     * @throws ParameterException which ends the program with the usage
     */
    void check(int available, String what) {
        between("--batch", batch, 1, Integer.MAX_VALUE);
        between("--epochs", epochs, 1, 10_000);
        between("--iterations", iterations, 1, Integer.MAX_VALUE);
        between("--port", port, 0, 65_535);
        between("--keep-alive", keepAliveSeconds, 0, 86_400);
        if (batch > available) {
            throw invalid("--batch=" + batch + ", expected at most the " + available + " " + what);
        }
    }

    private void between(String option, int value, int least, int most) {
        if (value < least || value > most) {
            String range = most == Integer.MAX_VALUE ? "at least " + least : least + " to " + most;
            throw invalid(option + "=" + value + ", expected " + range);
        }
    }

    private ParameterException invalid(String message) {
        return new ParameterException(command.commandLine(), message);
    }

    int batch() {
        return batch;
    }

    int epochs() {
        return epochs;
    }

    /** How many iterations to train, given how many an epoch has. */
    int iterations(int perEpoch) {
        return (int) Math.min(iterations, (long) perEpoch * epochs);
    }

    int port() {
        return port;
    }

    int keepAliveSeconds() {
        return keepAliveSeconds;
    }

    Path out() {
        return out;
    }

    boolean trace() {
        return trace;
    }

    boolean uses() {
        return uses;
    }

    boolean scopeCheck() {
        return scopeCheck;
    }

    /** Where an example prints. */
    PrintWriter writer() {
        return command.commandLine().getOut();
    }
}
