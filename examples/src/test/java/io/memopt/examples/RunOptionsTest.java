// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.strategy.Reuse;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class RunOptionsTest {
    private final Probe probe = new Probe();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void options_whenLeftOut_haveDefaults() {
        assertThat(run()).isZero();

        assertThat(probe.options.batch()).isEqualTo(16);
        assertThat(probe.options.epochs()).isEqualTo(3);
        assertThat(probe.options.iterations(10)).isEqualTo(30);
        assertThat(probe.options.port()).isEqualTo(9464);
        assertThat(probe.options.out()).isEqualTo(Path.of("examples/target/memopt"));
        assertThat(probe.options.trace()).isTrue();
        assertThat(probe.options.keepAliveSeconds()).isZero();
        assertThat(probe.options.reuse()).isEqualTo(Reuse.OFF);
    }

    @Test
    void options_whenGiven_areTaken() {
        assertThat(run(
                        "--batch=8",
                        "--epochs=2",
                        "--iterations=7",
                        "--port=0",
                        "--out=x",
                        "--no-trace",
                        "--reuse=RELEASED",
                        "--keep-alive=5"))
                .isZero();

        assertThat(probe.options.batch()).isEqualTo(8);
        assertThat(probe.options.iterations(10)).isEqualTo(7);
        assertThat(probe.options.iterations(3)).isEqualTo(6);
        assertThat(probe.options.port()).isZero();
        assertThat(probe.options.out()).isEqualTo(Path.of("x"));
        assertThat(probe.options.trace()).isFalse();
        assertThat(probe.options.keepAliveSeconds()).isEqualTo(5);
        assertThat(probe.options.reuse()).isEqualTo(Reuse.RELEASED);
    }

    @Test
    void trace_whenGiven_isOn() {
        assertThat(run("--trace")).isZero();

        assertThat(probe.options.trace()).isTrue();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--batch=101|--batch=101, expected at most the 100 things",
                "--bach=3|Unknown option: '--bach=3'",
                "stray|Unmatched argument at index 0: 'stray'",
                "--batch=many|Invalid value for option '--batch': 'many' is not an int",
                "--batch=0|--batch=0, expected at least 1",
                "--epochs=-1|--epochs=-1, expected 1 to 10000",
                "--iterations=0|--iterations=0, expected at least 1",
                "--port=65536|--port=65536, expected 0 to 65535",
                "--keep-alive=-1|--keep-alive=-1, expected 0 to 86400",
                "--reuse=SOME|Invalid value for option '--reuse': expected one of [OFF, RELEASED, SIZED, PLANNED]",
                "--out|Missing required parameter for option '--out' (DIR)",
            })
    void option_whenWrong_isNamedWithTheUsage(String argument, String message) {
        assertThat(run(argument)).isEqualTo(RunOptions.USAGE);

        assertThat(err.toString()).contains(message).contains("Usage: probe");
        assertThat(probe.ran).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-h", "--help"})
    void help_always_showsEveryOptionAndEnds(String option) {
        assertThat(run(option)).isZero();

        assertThat(out.toString())
                .contains("(16)", "(3)", "(9464)")
                .contains(
                        "--batch",
                        "--epochs",
                        "--iterations",
                        "--port",
                        "--out",
                        "trace",
                        "--keep-alive",
                        "--reuse",
                        "--help");
        assertThat(probe.ran).isFalse();
    }

    @Test
    void cifar_whenMissing_isOneLine() {
        CommandLine commandLine =
                RunOptions.commandLine(new ImageClassification()).setErr(new PrintWriter(err, true));

        assertThat(commandLine.execute("--cifar=does-not-exist")).isEqualTo(1);
        assertThat(err.toString())
                .hasLineCount(1)
                .startsWith("ImageClassification: ")
                .contains("does-not-exist");
    }

    @Test
    void batch_whenLargerThanTheData_isRefused() {
        CommandLine commandLine = RunOptions.commandLine(new TextGeneration()).setErr(new PrintWriter(err, true));

        assertThat(commandLine.execute("--batch=4000")).isEqualTo(RunOptions.USAGE);
        assertThat(err.toString()).contains("--batch=4000, expected at most the 1130 sentences");
    }

    private int run(String... args) {
        return RunOptions.commandLine(probe)
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(args);
    }

    @Command(name = "probe")
    private static final class Probe implements Callable<Integer> {
        @Mixin
        private final RunOptions options = new RunOptions(16, 3);

        private boolean ran;

        @Override
        public Integer call() {
            options.check(100, "things");
            ran = true;
            return 0;
        }
    }
}
