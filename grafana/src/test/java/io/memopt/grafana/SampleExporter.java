// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.grafana;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A scrape endpoint with every metric of the catalogue, for a made-up training run that moves with the clock. It feeds
 * the dashboard tests and the screenshots when no real run is at hand.
 *
 * <p>The run: iterations of {@value #ITERATION_SECONDS} s (forward, backward, update, a wait for data), epochs of
 * {@value #EPOCH_ITERATIONS} iterations that end with an evaluation, spills while workspaces learn their size and now
 * and then when a larger batch comes, detached arrays that grow until a forced collection, a refused allocation every
 * 400 iterations.
 *
 * <p>Needs only the JDK, so it also runs from its source: {@code java SampleExporter.java 9464}. Threading: scrapes are
 * answered one at a time, on the server's thread.
 */
public final class SampleExporter implements AutoCloseable {
    private static final double ITERATION_SECONDS = 0.95;
    private static final int EPOCH_ITERATIONS = 60;
    private static final int EVALUATED_ITERATIONS = 6;
    private static final double MIB = 1024 * 1024;
    private static final double[] BUCKETS = {0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0};
    private static final String[] LAYERS = {
        "conv1", "conv2", "pool1", "conv3", "conv4", "pool2", "conv5", "dense1", "dense2", "output"
    };
    /** Activations that a layer leaves behind, as a share of all. */
    private static final double[] LAYER_SHARE = {0.27, 0.22, 0.06, 0.15, 0.11, 0.03, 0.08, 0.05, 0.02, 0.01};

    private final HttpServer server;
    private final String network;
    private final double scale;
    private final double speed;
    private final long startNanos = System.nanoTime();
    private final SplittableRandom random = new SplittableRandom(42);
    private final Map<String, Double> counters = new LinkedHashMap<>();
    private final double[] bucketCounts = new double[BUCKETS.length];
    /** Iterations done; a whole number, but used in products with sizes. */
    private double iterations;

    private double lastScrape;
    private double slowestIteration;

    private final StringBuilder text = new StringBuilder();
    private String family = "";

    /**
     * Starts the endpoint on the loopback address.
     *
     * @param port the port, 0 for any free one
     * @param network name of the network that trains
     * @param scale factor on all sizes, 1 for a peak near 700 MiB
     * @param speed how many seconds of the run pass in one second of the clock
     */
    public SampleExporter(int port, String network, double scale, double speed) throws IOException {
        this.network = network;
        this.scale = scale;
        this.speed = speed;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/metrics", exchange -> {
            byte[] body = exposition().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    /** Serves until it is stopped. Arguments: port, and optionally network, scale and speed. */
    @SuppressWarnings("resource") // lives as long as the program
    public static void main(String[] args) throws IOException {
        SampleExporter exporter = new SampleExporter(
                args.length > 0 ? Integer.parseInt(args[0]) : 9464,
                args.length > 1 ? args[1] : "emoji-cnn",
                args.length > 2 ? Double.parseDouble(args[2]) : 1,
                args.length > 3 ? Double.parseDouble(args[3]) : 1);
        System.out.println("Sample metrics at http://" + exporter.target() + "/metrics");
    }

    /** Address to scrape, {@code host:port}. */
    public String target() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
    }

    /** The exposition text of this moment; flows and peaks since the previous call are taken into account. */
    public synchronized String exposition() {
        double now = (System.nanoTime() - startNanos) / 1e9 * speed;
        finishIterationsUntil(now);
        text.setLength(0);
        family = "";
        memory(now);
        workspaces(now);
        layers();
        flows(now);
        time(now);
        process(now);
        recorder(now);
        lastScrape = now;
        return text.toString();
    }

    // ---- the made-up run

    /** Position in the iteration that runs at time {@code t}, in [0, 1). */
    private static double progress(double t) {
        double iteration = t / ITERATION_SECONDS;
        return iteration - Math.floor(iteration);
    }

    private static boolean evaluating(double t) {
        return (long) (t / ITERATION_SECONDS) % EPOCH_ITERATIONS >= EPOCH_ITERATIONS - EVALUATED_ITERATIONS;
    }

    /** Batches differ a little in size, the same way each time one asks. */
    private static double batchSize(double t) {
        return 0.92 + 0.08 * Math.sin(Math.floor(t / ITERATION_SECONDS) * 1.7);
    }

    private Map<String, Double> liveAt(double t) {
        double p = progress(t);
        double batch = batchSize(t) * scale * MIB;
        boolean evaluating = evaluating(t);
        double forward = Math.min(1, p / 0.4);
        double backward = Math.min(1, Math.max(0, (p - 0.4) / 0.45));
        boolean computing = p < 0.85;
        Map<String, Double> live = new LinkedHashMap<>();
        live.put("parameters", 96 * scale * MIB);
        live.put("updater_state", (t < ITERATION_SECONDS ? 0 : 192) * scale * MIB);
        live.put("gradients", 96 * scale * MIB);
        live.put("activations", (evaluating ? 40 : 250 * forward * (1 - 0.92 * backward)) * batch);
        live.put(
                "activation_gradients",
                (evaluating ? 0 : 70 * Math.max(0, Math.sin(Math.PI * backward) - 1e-9)) * batch);
        live.put("working_memory", (computing ? 36 + 10 * Math.sin(40 * p) : 2) * batch);
        live.put("input", 24 * batch);
        live.put("helper_scratch", 16 * scale * MIB);
        live.put("constants", 4 * scale * MIB);
        live.put("other", detached(t));
        return live;
    }

    /** Arrays outside workspaces that nobody closes: they grow until a forced collection every 40 s. */
    private double detached(double t) {
        return (12 + 1.1 * (t % 40) + Math.min(20, t * 0.02)) * scale * MIB;
    }

    private static double sum(Map<String, Double> parts) {
        return parts.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    /** Which part of an iteration around time {@code t} each phase takes; the rest is waiting. */
    private static Map<String, Double> phaseShares(double t) {
        return evaluating(t)
                ? Map.of("evaluation", 0.82, "other", 0.05)
                : Map.of("forward", 0.35, "backward", 0.43, "update", 0.08, "score", 0.02, "other", 0.05);
    }

    private void finishIterationsUntil(double now) {
        while ((iterations + 1) * ITERATION_SECONDS <= now) {
            double seconds = ITERATION_SECONDS * (0.8 + 0.3 * random.nextDouble());
            if (random.nextInt(40) == 0) {
                seconds *= 1.8; // waited for data, or for a collection
            }
            slowestIteration = Math.max(slowestIteration * 0.98, seconds);
            for (int i = 0; i < BUCKETS.length; i++) {
                bucketCounts[i] += seconds <= BUCKETS[i] ? 1 : 0;
            }
            add("iteration_seconds", seconds);
            phaseShares((iterations + 0.5) * ITERATION_SECONDS)
                    .forEach((phase, share) -> add(phase, share * ITERATION_SECONDS));
            boolean learning = iterations < 4;
            boolean largeBatch = iterations % 75 < 2;
            if (learning || largeBatch) {
                add("spills.WS_ALL_LAYERS_ACT", 9);
                add("spilled.WS_ALL_LAYERS_ACT", 34 * scale * MIB);
                add("spills.WS_LAYER_WORKING_MEM", 2);
                add("spilled.WS_LAYER_WORKING_MEM", 5 * scale * MIB);
            }
            if (iterations < 3 || iterations % 75 == 2) {
                add("resizes.WS_ALL_LAYERS_ACT", 1);
                add("resizes.WS_LAYER_WORKING_MEM", iterations % 2);
            }
            if (iterations % 42 == 41) {
                add("gc", 1);
                add("gcSeconds", 0.07 + 0.05 * random.nextDouble());
            }
            if (iterations % 400 == 399) {
                add("failures", 1);
            }
            iterations++;
        }
    }

    private void add(String counter, double amount) {
        counters.merge(counter, amount, Double::sum);
    }

    private double count(String counter) {
        return counters.getOrDefault(counter, 0.0);
    }

    // ---- exposition, one method per group of metrics

    private void memory(double now) {
        Map<String, Double> live = liveAt(now);
        live.forEach((category, bytes) -> gauge(
                "memopt_live_bytes", "Bytes in use", bytes, "network", network, "category", category, "space", "host"));
        double peak = 0;
        for (double t = Math.max(lastScrape, now - 60); t <= now; t += 0.01) {
            peak = Math.max(peak, sum(liveAt(t)));
        }
        gauge("memopt_live_peak_bytes", "Largest sum of live bytes since the previous scrape", peak, "space", "host");
        double blocks = blockBytes("WS_ALL_LAYERS_ACT") + blockBytes("WS_LAYER_WORKING_MEM") + blockBytes("WS_INPUT");
        double spilled = iterations % 75 < 4 ? 39 * scale * MIB : 0;
        double detached = (96 + 192 + 96 + 16 + 4) * scale * MIB + detached(now);
        String reservedHelp = "Bytes held from the operating system";
        gauge("memopt_reserved_bytes", reservedHelp, blocks, "kind", "workspace_block", "space", "host");
        gauge("memopt_reserved_bytes", reservedHelp, spilled, "kind", "spill", "space", "host");
        gauge("memopt_reserved_bytes", reservedHelp, 0, "kind", "pinned_spill", "space", "host");
        gauge("memopt_reserved_bytes", reservedHelp, detached, "kind", "detached", "space", "host");
        gauge(
                "memopt_reserved_peak_bytes",
                "Largest reserved since the previous scrape",
                blocks + detached + spilled,
                "space",
                "host");
        gauge("memopt_wasted_bytes", "Workspace bytes that no array used", blocks * 0.17, "space", "host");
        gauge("memopt_gc_owned_bytes", "Detached bytes without an owner", detached(now), "space", "host");
    }

    private double blockBytes(String workspace) {
        double grown = 1 + 0.05 * Math.min(3, count("resizes." + workspace));
        return switch (workspace) {
            case "WS_ALL_LAYERS_ACT" -> 270 * grown * scale * MIB;
            case "WS_LAYER_WORKING_MEM" -> 96 * grown * scale * MIB;
            case "WS_INPUT" -> 28 * scale * MIB;
            default -> throw new IllegalArgumentException(workspace);
        };
    }

    private void workspaces(double now) {
        String[] names = {"WS_ALL_LAYERS_ACT", "WS_LAYER_WORKING_MEM", "WS_INPUT"};
        double[] fill = {0.93, 0.48, 0.86};
        for (String name : names) {
            gauge(
                    "memopt_workspace_reserved_bytes",
                    "Block size, all threads",
                    blockBytes(name),
                    "workspace",
                    name,
                    "space",
                    "host");
        }
        for (int i = 0; i < names.length; i++) {
            double used = blockBytes(names[i]) * fill[i] * batchSize(now) * (evaluating(now) && i == 0 ? 0.3 : 1);
            gauge(
                    "memopt_workspace_used_bytes",
                    "Largest use of a cycle, all threads",
                    used,
                    "workspace",
                    names[i],
                    "space",
                    "host");
        }
        for (String name : names) {
            counter(
                    "memopt_workspace_spilled_bytes_total",
                    "Bytes that did not fit",
                    count("spilled." + name),
                    "workspace",
                    name);
        }
        for (String name : names) {
            counter(
                    "memopt_workspace_spills_total",
                    "Allocations that did not fit",
                    count("spills." + name),
                    "workspace",
                    name);
        }
        for (String name : names) {
            counter(
                    "memopt_workspace_resizes_total",
                    "Blocks allocated again",
                    count("resizes." + name),
                    "workspace",
                    name);
        }
        String[] threads = {"main", "prefetch-0", "evaluation-1", "evaluation-2", "pool-3-thread-1"};
        double[] bytes = {330, 28, 26, 26, 58};
        for (int i = 0; i < threads.length; i++) {
            gauge(
                    "memopt_thread_workspace_bytes",
                    "Workspace blocks of a thread",
                    bytes[i] * scale * MIB,
                    "thread",
                    threads[i]);
        }
        double[] idle = {0.02, 0.4, now % 57, now % 57, 1260 + now};
        for (int i = 0; i < threads.length; i++) {
            gauge(
                    "memopt_thread_idle_seconds",
                    "Time since the thread entered a workspace",
                    idle[i],
                    "thread",
                    threads[i]);
        }
    }

    private void layers() {
        double[] phaseFactor = {1, 1.35, 0.3};
        String[] phases = {"forward", "backward", "evaluation"};
        for (int phase = 0; phase < phases.length; phase++) {
            for (int i = 0; i < LAYERS.length; i++) {
                // A backward pass needs most where kernels are large, so late layers gain less.
                double factor = phase == 1 ? phaseFactor[1] - 0.04 * i : phaseFactor[phase];
                gauge(
                        "memopt_layer_peak_bytes",
                        "Most bytes that a layer used in a phase",
                        260 * LAYER_SHARE[i] * factor * scale * MIB,
                        "network",
                        network,
                        "layer",
                        LAYERS[i],
                        "phase",
                        phases[phase]);
            }
        }
    }

    private void flows(double now) {
        double perSecond = now / ITERATION_SECONDS;
        String[] kinds = {"workspace_block", "spill", "pinned_spill", "detached"};
        double spills = count("spills.WS_ALL_LAYERS_ACT") + count("spills.WS_LAYER_WORKING_MEM");
        double spilled = count("spilled.WS_ALL_LAYERS_ACT") + count("spilled.WS_LAYER_WORKING_MEM");
        double resizes = count("resizes.WS_ALL_LAYERS_ACT") + count("resizes.WS_LAYER_WORKING_MEM");
        double[] number = {5 + resizes, spills, 0, 40 + 14 * perSecond};
        double[] bytes = {(400 + 300 * resizes) * scale * MIB, spilled, 0, (400 + 1.4 * perSecond) * scale * MIB};
        for (int i = 0; i < kinds.length; i++) {
            counter("memopt_allocations_total", "Allocations", number[i], "kind", kinds[i], "space", "host");
        }
        for (int i = 0; i < kinds.length; i++) {
            counter("memopt_allocated_bytes_total", "Bytes allocated", bytes[i], "kind", kinds[i], "space", "host");
        }
        for (int i = 0; i < kinds.length; i++) {
            counter("memopt_freed_bytes_total", "Bytes freed", bytes[i] * 0.97, "kind", kinds[i], "space", "host");
        }
        counter("memopt_allocation_failures_total", "Refused allocations", count("failures"), "space", "host");
        String[] directions = {"host_to_device", "device_to_host"};
        double[] copied = {24, 0.6};
        for (int i = 0; i < 2; i++) {
            double total = copied[i] * perSecond * scale * MIB;
            counter("memopt_transfer_bytes_total", "Bytes copied", total, "direction", directions[i]);
        }
        for (int i = 0; i < 2; i++) {
            double total = copied[i] * perSecond * scale / 6000;
            counter("memopt_transfer_seconds_total", "Time in copies", total, "direction", directions[i]);
        }
        double[] tiny = {22, 16};
        for (int i = 0; i < 2; i++) {
            counter("memopt_transfers_tiny_total", "Tiny copies", tiny[i] * perSecond, "direction", directions[i]);
        }
        counter("memopt_stream_synchronizations_total", "Waits for a stream", 45 * perSecond);
    }

    private void time(double now) {
        String iteration = "memopt_iteration_seconds";
        for (int i = 0; i < BUCKETS.length; i++) {
            sample(
                    iteration,
                    "histogram",
                    "Training iterations",
                    "_bucket",
                    bucketCounts[i],
                    "network",
                    network,
                    "le",
                    "" + BUCKETS[i]);
        }
        sample(iteration, "histogram", "Training iterations", "_bucket", iterations, "network", network, "le", "+Inf");
        sample(iteration, "histogram", "Training iterations", "_sum", count("iteration_seconds"), "network", network);
        sample(iteration, "histogram", "Training iterations", "_count", iterations, "network", network);
        gauge("memopt_iteration_seconds_max", "Slowest recent iteration", slowestIteration, "network", network);
        String[] phases = {"forward", "backward", "update", "score", "evaluation", "other"};
        for (String phase : phases) {
            String name = "memopt_phase_seconds";
            double running = phaseShares(now).getOrDefault(phase, 0.0) * progress(now) * ITERATION_SECONDS;
            sample(
                    name,
                    "summary",
                    "Time in a phase",
                    "_sum",
                    count(phase) + running,
                    "network",
                    network,
                    "phase",
                    phase);
            sample(name, "summary", "Time in a phase", "_count", iterations, "network", network, "phase", phase);
        }
        for (String phase : phases) {
            double max = iterations == 0 ? 0 : 1.3 * count(phase) / iterations;
            gauge("memopt_phase_seconds_max", "Longest recent phase", max, "network", network, "phase", phase);
        }
        gauge("memopt_iteration", "Iteration number", iterations, "network", network);
        gauge("memopt_epoch", "Epoch number", Math.floor(iterations / EPOCH_ITERATIONS), "network", network);
        sample("memopt_gc_forced_seconds", "summary", "Forced collections", "_sum", count("gcSeconds"));
        sample("memopt_gc_forced_seconds", "summary", "Forced collections", "_count", count("gc"));
        gauge("memopt_gc_forced_seconds_max", "Longest recent forced collection", count("gc") > 0 ? 0.11 : 0);
    }

    private void process(double now) {
        double heap = 384 * scale * MIB;
        double nonHeap = 92 * scale * MIB;
        double unattributed = (118 + Math.min(30, now * 0.05) + 4 * Math.sin(now / 20)) * scale * MIB;
        double offHeap = blockBytes("WS_ALL_LAYERS_ACT")
                + blockBytes("WS_LAYER_WORKING_MEM")
                + blockBytes("WS_INPUT")
                + 404 * scale * MIB
                + detached(now);
        gauge("memopt_process_resident_bytes", "Resident set size", heap + nonHeap + offHeap + unattributed);
        gauge("memopt_jvm_committed_bytes", "Committed by the JVM", heap, "area", "heap");
        gauge("memopt_jvm_committed_bytes", "Committed by the JVM", nonHeap, "area", "nonheap");
        gauge("memopt_unattributed_bytes", "Resident bytes that nobody accounts for", unattributed);
        double offHeapLimit = 1024 * Math.ceil(scale) * MIB;
        String limitHelp = "Limits in force";
        gauge("memopt_limit_bytes", limitHelp, 32 * 1024 * MIB, "limit", "physical");
        gauge("memopt_limit_bytes", limitHelp, 2 * offHeapLimit, "limit", "container");
        gauge("memopt_limit_bytes", limitHelp, offHeapLimit, "limit", "javacpp_max_bytes");
        gauge("memopt_limit_bytes", limitHelp, 2.5 * offHeapLimit, "limit", "javacpp_max_physical_bytes");
        gauge("memopt_limit_bytes", limitHelp, offHeapLimit, "limit", "heap");
    }

    private void recorder(double now) {
        double events = now * 3100 + 40 * Math.sin(now / 9);
        counter("memopt_recorder_events_total", "Events recorded", events);
        counter("memopt_recorder_lost_events_total", "Events that the trace file lost", 0);
        counter("memopt_recorder_overhead_seconds_total", "Estimated time spent recording", events * 1.9e-6);
        gauge("memopt_recorder_memory_bytes", "Memory of the recorder itself", 9.5 * MIB);
        gauge("memopt_networks", "Attached networks", 1);
        counter("memopt_prefetch_batches_total", "Batches handed out", now / ITERATION_SECONDS);
        counter("memopt_prefetch_preparation_seconds_total", "Time to prepare batches", 0.3 * now);
        counter("memopt_prefetch_wait_seconds_total", "Waits for batches", 0.01 * now);
        counter("memopt_prefetch_waits_total", "Batches waited for", 0.02 * now / ITERATION_SECONDS);
        gauge("memopt_prefetch_ahead_bytes", "Batches read ahead", 12 * MIB);
        gauge("memopt_leaked_prefetchers", "Prefetch threads that nobody reads", 0);
    }

    private void gauge(String name, String help, double value, String... labels) {
        sample(name, "gauge", help, "", value, labels);
    }

    private void counter(String name, String help, double value, String... labels) {
        sample(name, "counter", help, "", value, labels);
    }

    private void sample(String name, String type, String help, String suffix, double value, String... labels) {
        if (!family.equals(name)) {
            family = name;
            text.append("# HELP ").append(name).append(' ').append(help).append('\n');
            text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
        }
        text.append(name).append(suffix);
        for (int i = 0; i < labels.length; i += 2) {
            text.append(i == 0 ? '{' : ',')
                    .append(labels[i])
                    .append("=\"")
                    .append(labels[i + 1])
                    .append('"');
        }
        text.append(labels.length > 0 ? "} " : " ");
        text.append(String.format(Locale.ROOT, "%.7g", value)).append('\n');
    }
}
