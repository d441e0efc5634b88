// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.allocator.recording.GarbageCollectionWatch;
import io.memopt.allocator.recording.MemoryLimits;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The metric contract, against both Prometheus registries of Micrometer. */
@SuppressWarnings("deprecation") // the simpleclient registry is what MetricsServer uses
class CatalogueTest {
    /** Resources of the grafana module; surefire runs in the directory of this one. */
    private static final Path GRAFANA = Path.of(System.getProperty("memopt.grafana", "../grafana/src/main/resources"));

    private final Driver driver = new Driver();
    private final GarbageCollectionWatch watch = GarbageCollectionWatch.start(driver.ledger);
    private final MemoptMetrics metrics = MemoptMetrics.of(driver.ledger, watch, driver.timers)
            .limits(() -> new MemoryLimits(
                    OptionalLong.of(16),
                    OptionalLong.of(8),
                    OptionalLong.of(4),
                    OptionalLong.of(4),
                    OptionalLong.of(16)))
            .recorder(new RecorderFigures() {
                @Override
                public Map<String, Long> deviceMemory() {
                    return Map.of("arrays", 3L, "unattributed", 4L);
                }

                @Override
                public Map<String, Long> extraPasses() {
                    return Map.of("tried", 9L, "repeated", 1L);
                }
            })
            .build();
    private final io.micrometer.prometheus.PrometheusMeterRegistry simpleclient =
            new io.micrometer.prometheus.PrometheusMeterRegistry(io.micrometer.prometheus.PrometheusConfig.DEFAULT);
    private final io.micrometer.prometheusmetrics.PrometheusMeterRegistry prometheus =
            new io.micrometer.prometheusmetrics.PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    @BeforeEach
    void drive() {
        metrics.bindTo(simpleclient);
        metrics.bindTo(prometheus);
        driver.everything("net");
        metrics.beforeScrape(simpleclient);
        metrics.beforeScrape(prometheus);
    }

    @AfterEach
    void close() {
        metrics.close();
        watch.close();
    }

    @Test
    void scrape_ofSimpleclient_hasExactlyTheCatalogue() throws IOException {
        assertCatalogue(new Exposition(simpleclient.scrape()));
    }

    @Test
    void scrape_ofNewRegistry_hasExactlyTheCatalogue() throws IOException {
        assertCatalogue(new Exposition(prometheus.scrape()));
    }

    @Test
    void scrape_ofBothRegistries_hasTheSameValues() {
        // given the figures that do not move between the two scrapes
        Function<String, Map<String, Double>> steady = text -> new Exposition(text)
                .samples.stream()
                        .filter(s -> !s.name().matches("memopt_(thread_idle|process|jvm|unattributed|gc|recorder).*"))
                        .collect(Collectors.toMap(s -> s.name() + new java.util.TreeMap<>(s.labels()), s -> s.value()));

        assertThat(steady.apply(prometheus.scrape())).isEqualTo(steady.apply(simpleclient.scrape()));
    }

    @Test
    void scrape_ofDrivenLedger_givesItsFigures() {
        Exposition scrape = new Exposition(simpleclient.scrape());
        assertThat(scrape.sum("memopt_live_bytes")).isEqualTo(256 + 4096);
        assertThat(scrape.sum("memopt_live_bytes", "network", "net", "category", "parameters"))
                .isEqualTo(4096);
        assertThat(scrape.sum("memopt_live_bytes", "network", "none")).isEqualTo(256);
        assertThat(scrape.sum("memopt_live_peak_bytes", "space", "host")).isEqualTo(256 + 4096);
        assertThat(scrape.sum("memopt_reserved_bytes")).isEqualTo(1024 + 256 + 4096);
        assertThat(scrape.sum("memopt_reserved_bytes", "kind", "workspace_block"))
                .isEqualTo(1024);
        assertThat(scrape.sum("memopt_wasted_bytes")).isEqualTo(1024 - 640);
        assertThat(scrape.sum("memopt_workspace_used_bytes", "workspace", "WS_ALL_LAYERS_ACT"))
                .isEqualTo(640);
        assertThat(scrape.sum("memopt_workspace_spilled_bytes_total")).isEqualTo(512);
        assertThat(scrape.sum("memopt_layer_peak_bytes", "network", "net", "layer", "dense", "phase", "forward"))
                .isEqualTo(640 + 512);
        assertThat(scrape.sum("memopt_gc_owned_bytes")).isEqualTo(256);
        assertThat(scrape.sum("memopt_allocations_total", "kind", "detached")).isEqualTo(2);
        assertThat(scrape.sum("memopt_freed_bytes_total", "kind", "spill")).isEqualTo(512);
        assertThat(scrape.sum("memopt_allocation_failures_total")).isEqualTo(1);
        assertThat(scrape.sum("memopt_transfer_bytes_total", "direction", "host_to_host"))
                .isEqualTo(256);
        assertThat(scrape.sum("memopt_transfers_tiny_total", "direction", "host_to_host"))
                .isEqualTo(1);
        assertThat(scrape.sum("memopt_transfers_tiny_total")).isEqualTo(1);
        assertThat(scrape.sum("memopt_stream_synchronizations_total")).isEqualTo(1);
        assertThat(scrape.sum("memopt_iteration")).isEqualTo(41);
        assertThat(scrape.sum("memopt_epoch")).isEqualTo(3);
        assertThat(scrape.sum("memopt_iteration_seconds_sum")).isEqualTo(0.02);
        assertThat(scrape.sum("memopt_iteration_seconds_bucket", "le", "0.02")).isEqualTo(1);
        assertThat(scrape.sum("memopt_phase_seconds_count", "phase", "forward")).isEqualTo(1);
        assertThat(scrape.sum("memopt_limit_bytes", "limit", "javacpp_max_physical_bytes"))
                .isEqualTo(16);
        assertThat(scrape.sum("memopt_recorder_events_total")).isEqualTo((double) driver.ledger.events());
        assertThat(scrape.sum("memopt_device_memory_bytes", "part", "arrays")).isEqualTo(3);
        assertThat(scrape.sum("memopt_device_memory_bytes")).isEqualTo(7);
        assertThat(scrape.sum("memopt_networks")).isEqualTo(1);
    }

    @Test
    void bindTo_anyRegistry_describesEveryMeter() {
        MeterRegistry simple = new SimpleMeterRegistry();
        metrics.bindTo(simple);
        driver.timers.iterationEnded("net", 42, 3, 1);
        driver.timers.phaseEnded("net", io.memopt.allocator.event.Phase.FORWARD, 1);
        // SimpleMeterRegistry makes a gauge of each bucket, which takes no description.
        List<Meter.Id> ids = simple.getMeters().stream()
                .map(Meter::getId)
                .filter(id -> !id.getName().endsWith(".histogram"))
                .toList();

        assertThat(ids).allSatisfy(id -> assertThat(id.getDescription()).isNotBlank());
        assertThat(ids.stream().map(Meter.Id::getName).collect(Collectors.toSet()))
                .containsExactlyInAnyOrderElementsOf(
                        Arrays.stream(Metric.values()).map(Metric::meterName).toList());
    }

    @Test
    void close_removesAllMeters_andOnlyThose() {
        MeterRegistry simple = new SimpleMeterRegistry();
        Meter own = simple.counter("own");
        metrics.bindTo(simple);
        driver.timers.iterationEnded("net", 42, 3, 1);
        assertThat(simple.getMeters()).hasSizeGreaterThan(20);

        metrics.close();

        assertThat(simple.getMeters()).containsExactly(own);
        assertThat(simpleclient.getMeters()).isEmpty();
        assertThat(simpleclient.scrape()).isEmpty();
        assertThat(prometheus.scrape()).isEmpty();
    }

    @Test
    void close_allowsToBindAgain() {
        metrics.close();
        metrics.bindTo(simpleclient);

        assertThat(new Exposition(simpleclient.scrape()).sum("memopt_reserved_bytes"))
                .isEqualTo(1024 + 256 + 4096);
    }

    @Test
    void scrape_checkedByPromtool_isClean(@TempDir Path directory) throws IOException, InterruptedException {
        boolean present = Arrays.stream(System.getenv("PATH").split(":"))
                .anyMatch(p -> Files.isExecutable(Path.of(p, "promtool")));
        assumeTrue(present, "SKIPPED: promtool is not on the PATH, so the exposition was not linted");

        for (String text : new String[] {simpleclient.scrape(), prometheus.scrape()}) {
            Path file = directory.resolve("metrics.txt");
            Files.writeString(file, text);
            Process promtool = new ProcessBuilder("promtool", "check", "metrics")
                    .redirectInput(file.toFile())
                    .redirectErrorStream(true)
                    .start();
            String output = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

            assertThat(promtool.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(output).isEmpty();
            assertThat(promtool.exitValue()).isZero();
        }
    }

    /** Dashboards and rules may use only what is exported. */
    @Test
    void dashboards_useOnlyExportedMetrics() throws IOException {
        assumeTrue(Files.isDirectory(GRAFANA), "SKIPPED: no dashboards at " + GRAFANA.toAbsolutePath());
        Set<String> exported = new TreeSet<>(catalogue().keySet());
        Pattern name = Pattern.compile("(?<![a-zA-Z0-9_:-])memopt_[a-z_]+(?![a-zA-Z0-9_:])");
        Set<String> used = new TreeSet<>();
        try (Stream<Path> files = Files.walk(GRAFANA)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Matcher matcher = name.matcher(Files.readString(file));
                while (matcher.find()) {
                    used.add(matcher.group());
                }
            }
        }

        assertThat(exported).containsAll(used);
    }

    /** The list that the grafana module keeps for its own tests is this one. */
    @Test
    void listOfTheGrafanaModule_isTheCatalogue() throws IOException {
        Path list = GRAFANA.resolve("io/memopt/grafana/metrics.txt");
        assumeTrue(Files.isRegularFile(list), "SKIPPED: no list at " + list.toAbsolutePath());

        assertThat(Files.readAllLines(list).stream().filter(line -> !line.startsWith("#")))
                .containsExactlyInAnyOrderElementsOf(catalogue().keySet());
    }

    private static void assertCatalogue(Exposition scrape) throws IOException {
        Map<String, Set<String>> expected = catalogue();
        if (scrape.of("memopt_process_resident_bytes").isEmpty()) { // not Linux
            expected.remove("memopt_process_resident_bytes");
            expected.remove("memopt_unattributed_bytes");
        }

        assertThat(scrape.names()).isEqualTo(expected.keySet());
        expected.forEach((name, labels) -> assertThat(scrape.of(name))
                .allSatisfy(
                        sample -> assertThat(sample.labels().keySet()).as(name).isEqualTo(labels)));
        assertThat(scrape.help.values()).allSatisfy(help -> assertThat(help).isNotBlank());
        assertThat(scrape.types.entrySet()).allSatisfy(type -> {
            boolean counter = type.getKey().endsWith("_total");
            boolean timer = type.getKey().matches("memopt_(gc_forced|phase|iteration)_seconds");
            boolean histogram = type.getKey().equals("memopt_iteration_seconds");
            String kind = timer ? "summary" : "gauge";
            assertThat(type.getValue()).isEqualTo(counter ? "counter" : histogram ? "histogram" : kind);
        });
    }

    private static Map<String, Set<String>> catalogue() throws IOException {
        try (InputStream in = CatalogueTest.class.getResourceAsStream("/metric-names.txt")) {
            Map<String, Set<String>> names = new LinkedHashMap<>();
            new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" "))
                    .forEach(words ->
                            names.put(words[0], Set.copyOf(Arrays.asList(words).subList(1, words.length))));
            return new java.util.TreeMap<>(names);
        }
    }
}
