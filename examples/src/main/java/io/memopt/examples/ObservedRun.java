// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.listeners.prometheus.MetricsServer;
import io.memopt.report.MemorySummary;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.shade.jackson.databind.ObjectMapper;
import org.nd4j.shade.jackson.databind.SerializationFeature;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/** A training run with MemOpt attached: what a program of your own would do, once for the three examples. */
final class ObservedRun implements AutoCloseable {
    private final String name;
    private final RunOptions options;
    private final PrintWriter out;
    private final MemOpt memopt;
    private final @Nullable MetricsServer metrics;
    private final Progress progress;

    /**
     * Attaches MemOpt and starts the metrics endpoint.
     *
     * @param name of the example, for {@code summary.json}
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @param iterations how many will be trained
     */
    ObservedRun(String name, Model network, RunOptions options, int iterations) throws IOException {
        this.name = name;
        this.options = options;
        this.out = options.writer();
        Files.createDirectories(options.out());
        MemOptConfig.Builder config =
                MemOptConfig.builder().recordUses(options.uses()).scopeCheck(options.scopeCheck());
        if (options.trace()) {
            config = config.trace(options.out().resolve("trace.memopt"));
        }
        this.memopt = MemOpt.attach(network, config.build());
        this.metrics = serve(options.port());
        this.progress = new Progress(out, Progress.onTerminal(), System::nanoTime, iterations);
        out.printf(
                "%s: %,d parameters, %d iterations of %d examples%n",
                name, network.numParams(), iterations, options.batch());
        out.println(metrics == null ? "No metrics endpoint" : "Metrics at " + metrics.uri());
        out.flush();
    }

    /** A taken port must not stop a training: any free one is better than none. */
    private @Nullable MetricsServer serve(int port) {
        return memopt.serveMetrics(port).or(() -> memopt.serveMetrics(0)).orElse(null);
    }

    Progress progress() {
        return progress;
    }

    /** Prints the summary, writes the files, and serves metrics for as long as was asked. */
    void finish() throws IOException, InterruptedException {
        MemorySummary summary = memopt.summary();
        List<String> files = new ArrayList<>();
        if (metrics != null) {
            files.add(write("metrics.txt", metrics.scrape()));
        }
        files.add(write("summary.json", json(summary)));
        if (options.trace()) {
            files.add("trace.memopt");
        }
        out.println();
        out.println(summary);
        if (options.scopeCheck()) {
            out.printf(
                    "Places that use arrays after their scope: %d%n",
                    memopt.scopeFindings().size());
        }
        out.printf("Written to %s: %s%n", options.out(), String.join(", ", files));
        if (metrics != null && options.keepAliveSeconds() > 0) {
            out.printf("Metrics stay at %s for %d s%n", metrics.uri(), options.keepAliveSeconds());
            out.flush();
            TimeUnit.SECONDS.sleep(options.keepAliveSeconds());
        }
        out.flush();
    }

    private String write(String file, String text) throws IOException {
        Files.writeString(options.out().resolve(file), text);
        return file;
    }

    /** The summary, and what only the program knows. */
    private String json(MemorySummary summary) throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        ObjectNode json = mapper.createObjectNode().put("example", name).put("batch", options.batch());
        json.setAll((ObjectNode) mapper.readTree(summary.toJson()));
        return mapper.writeValueAsString(json) + "\n";
    }

    @Override
    public void close() {
        if (metrics != null) {
            metrics.close();
        }
        memopt.close();
    }
}
