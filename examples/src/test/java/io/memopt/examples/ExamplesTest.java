// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

/** Each example for a few iterations: it runs, and leaves what it promises. */
class ExamplesTest {
    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();

    @Test
    void imageClassification_always_writesItsFiles() throws IOException {
        run(new ImageClassification(), "--batch=8", "--iterations=3", "--port=0");

        JsonNode summary = summary();
        assertThat(summary.fieldNames())
                .toIterable()
                .contains(
                        "example",
                        "model",
                        "batch",
                        "iterations",
                        "dl4jVersion",
                        "backend",
                        "hardware",
                        "stepMillisMedian",
                        "peakBytes",
                        "peakAt",
                        "liveByCategory",
                        "reservedBytes",
                        "usedBytes",
                        "attributedShare",
                        "unattributedBytes",
                        "overheadShare",
                        "events");
        assertThat(summary.get("example").asText()).isEqualTo("vgg-emoji");
        assertThat(summary.get("batch").asInt()).isEqualTo(8);
        assertThat(summary.get("iterations").asInt()).isEqualTo(3);
        assertThat(summary.get("peakAt").fieldNames()).toIterable().contains("iteration", "phase", "layer");
        assertThat(summary.get("peakBytes").asLong()).isPositive();
        assertThat(directory.resolve("trace.memopt")).isNotEmptyFile();
        assertThat(directory.resolve("metrics.txt")).content().contains("# HELP memopt_");
        assertThat(out.toString()).contains("epoch 1: accuracy", "3/3 100 %");
    }

    @Test
    void imageClassification_ofCifarFile_runs() throws IOException {
        Path file = directory.resolve("data_batch_1.bin");
        Files.write(file, new byte[20 * 3073]);

        run(new ImageClassification(), "--cifar=" + file, "--batch=4", "--iterations=2", "--port=0", "--no-trace");

        assertThat(summary().get("example").asText()).isEqualTo("vgg-cifar10");
        assertThat(directory.resolve("trace.memopt")).doesNotExist();
    }

    @Test
    void residualGraph_whenPortIsTaken_takesAnother() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            run(new ResidualGraph(), "--batch=8", "--iterations=2", "--port=" + taken.getLocalPort());

            assertThat(out.toString()).contains("Metrics at http").doesNotContain(":" + taken.getLocalPort() + "/");
        }
        assertThat(summary().get("iterations").asInt()).isEqualTo(2);
        assertThat(directory.resolve("metrics.txt")).isNotEmptyFile();
    }

    @Test
    void textGeneration_always_writesSentences() throws IOException {
        run(new TextGeneration(), "--batch=8", "--iterations=4", "--port=0");

        assertThat(out.toString()).contains("epoch 1: loss");
        assertThat(out.toString().lines().filter(line -> line.startsWith("> "))).hasSize(3);
        assertThat(summary().get("iterations").asInt()).isEqualTo(4);
        assertThat(directory.resolve("trace.memopt")).isNotEmptyFile();
    }

    @Test
    void everyExample_withScopeCheck_usesNoArrayAfterItsScope() {
        run(new ImageClassification(), "--batch=8", "--iterations=3", "--port=0", "--scope-check");
        run(new ResidualGraph(), "--batch=8", "--iterations=3", "--port=0", "--scope-check");
        run(new TextGeneration(), "--batch=8", "--iterations=3", "--port=0", "--scope-check");

        assertThat(out.toString().lines().filter(line -> line.startsWith("Places that use arrays after their scope: ")))
                .hasSize(3)
                .allMatch(line -> line.endsWith(": 0"));
    }

    @Test
    void verifyTraining_withinABudget_isBitwise() {
        int exit = RunOptions.commandLine(new VerifyTraining())
                .setOut(new PrintWriter(out, true))
                .execute("--batch=8", "--iterations=4", "--budget=1 GiB");

        assertThat(out.toString())
                .contains("equal bit for bit", "chosen: ", "optimised by plain: peak", "hardware");
        assertThat(exit).isZero();
    }

    @Test
    void verifyTraining_withinNothing_saysTheLeastBudget() {
        int exit = RunOptions.commandLine(new VerifyTraining())
                .setOut(new PrintWriter(out, true))
                .execute("--batch=8", "--iterations=4", "--budget=1 KiB");

        assertThat(out.toString()).contains("the least budget that can be met is");
        assertThat(exit).isEqualTo(1);
    }

    private void run(Callable<Integer> example, String... args) {
        int exit = RunOptions.commandLine(example)
                .setOut(new PrintWriter(out, true))
                .execute(withOut(args));
        assertThat(exit).isZero();
    }

    private String[] withOut(String... args) {
        String[] all = Arrays.copyOf(args, args.length + 1);
        all[args.length] = "--out=" + directory;
        return all;
    }

    private JsonNode summary() throws IOException {
        return new ObjectMapper().readTree(directory.resolve("summary.json").toFile());
    }
}
