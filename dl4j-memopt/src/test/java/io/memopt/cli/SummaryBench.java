// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@code memopt summary} of 10 million events takes less than 10 s and 1 GiB of heap:
 * {@code mvn test -Pbench -pl dl4j-memopt -am -Dtest=SummaryBench -Dsurefire.failIfNoSpecifiedTests=false}. With
 * {@code -Dmemopt.bench.keep=FILE} the trace stays there.
 */
@Tag("bench")
class SummaryBench {
    private static final long EVENTS = 10_000_000;

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void summary_ofTenMillionEvents_isFastAndSmall(boolean uses) throws IOException, InterruptedException {
        String keep = System.getProperty("memopt.bench.keep");
        Path trace = keep == null ? folder.resolve("big.memopt") : Path.of(keep);
        BigTrace.write(trace, EVENTS, uses);

        long start = System.nanoTime();
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx1g",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "io.memopt.cli.Main",
                        "summary",
                        trace.toString(),
                        "--json")
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        Duration busy = Duration.ZERO;
        while (!process.waitFor(20, TimeUnit.MILLISECONDS)) {
            busy = process.info().totalCpuDuration().orElse(busy);
        }
        int code = process.exitValue();
        Duration taken = Duration.ofNanos(System.nanoTime() - start);

        System.out.println("summary of " + EVENTS + " events" + (uses ? " with last uses, " : ", ") + Files.size(trace)
                + " B, with -Xmx1g: " + taken + ", CPU " + busy);
        assertThat(Files.readString(folder.resolve("err"))).isEmpty();
        assertThat(code).isZero();
        // Of both processors, compilation included: not less than the time it takes on a machine that has nothing else
        // to do.
        assertThat(busy).isPositive().isLessThan(Duration.ofSeconds(10));
    }
}
