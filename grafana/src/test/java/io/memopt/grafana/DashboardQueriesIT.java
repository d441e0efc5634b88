// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.grafana;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.memopt.grafana.Dashboards.Query;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every query of the dashboards and every rule, asked of a real Prometheus that scrapes {@link SampleExporter}. */
@Tag("prometheus")
class DashboardQueriesIT {
    /** The sample run passes 40 times as fast, so that its first failed allocation comes after ten seconds. */
    private static final double SPEED = 40;
    /** When the last query must have data, from the start of the server on. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static SampleExporter exporter;
    private static PrometheusServer prometheus;
    private static long deadline;

    @BeforeAll
    static void start() throws IOException {
        if (!PrometheusServer.installed("prometheus") || !PrometheusServer.installed("promtool")) {
            System.err.println(
                    "SKIPPED DashboardQueriesIT: prometheus and promtool are not on the PATH, so no query and "
                            + "no rule has been tried. Debian: apt-get install prometheus");
            abort("prometheus is not installed");
        }
        exporter = new SampleExporter(0, "emoji-cnn", 1, SPEED);
        prometheus = PrometheusServer.scraping(exporter.target());
        deadline = System.nanoTime() + PATIENCE.toNanos();
    }

    @AfterAll
    static void stop() throws IOException, InterruptedException {
        if (prometheus != null) {
            prometheus.close();
        }
        if (exporter != null) {
            exporter.close();
        }
    }

    static List<Query> queries() {
        return Dashboards.queries();
    }

    static Stream<String> labelQueries() {
        return Dashboards.all().stream()
                .flatMap(dashboard -> dashboard.variables().stream())
                .filter(variable -> Dashboards.string(variable, "type").equals("query"))
                .map(variable -> Dashboards.string(variable.getAsJsonObject("query"), "query"))
                .distinct();
    }

    @ParameterizedTest
    @MethodSource("queries")
    void query_sampleRun_hasValues(Query query) throws Exception {
        String promql = substituted(query.expr());

        assertThat(eventually(() -> hasValues(promql))).as(promql).isTrue();
    }

    @ParameterizedTest
    @MethodSource("labelQueries")
    void variable_sampleRun_hasValues(String query) throws Exception {
        int comma = query.lastIndexOf(',');
        String series = substituted(query.substring("label_values(".length(), comma));
        String label = query.substring(comma + 1, query.length() - 1).trim();

        boolean found = eventually(() -> !prometheus
                .get("label/" + label + "/values", "match[]", series)
                .getAsJsonArray()
                .isEmpty());
        assertThat(found).as(query).isTrue();
    }

    @Test
    void rules_loaded_evaluateWithoutError() throws Exception {
        assertThat(eventually(() -> ruleHealth().noneMatch("unknown"::equals))).isTrue();
        assertThat(ruleHealth()).hasSizeGreaterThan(15).containsOnly("ok");
    }

    @Test
    void promtool_rules_findsNoFault() throws Exception {
        promtool(null, "check", "rules", rule("memopt-recording.yml"), rule("memopt-alerts.yml"));
        promtool(null, "test", "rules", rule("memopt-rules-test.yml"));
    }

    @Test
    void promtool_exposition_findsNoFault(@TempDir Path folder) throws Exception {
        Path exposition = Files.writeString(folder.resolve("metrics"), exporter.exposition());

        promtool(exposition, "check", "metrics");
    }

    private static boolean hasValues(String promql) throws IOException, InterruptedException {
        for (JsonElement series : prometheus.lastMinute(promql)) {
            for (JsonElement point : series.getAsJsonObject().getAsJsonArray("values")) {
                if (Double.isFinite(
                        Double.parseDouble(point.getAsJsonArray().get(1).getAsString()))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static Stream<String> ruleHealth() throws IOException, InterruptedException {
        List<String> health = new ArrayList<>();
        JsonObject rules = prometheus.get("rules").getAsJsonObject();
        Dashboards.elements(rules, "groups")
                .flatMap(group -> Dashboards.elements(group, "rules"))
                .forEach(rule -> health.add(Dashboards.string(rule, "health")));
        return health.stream();
    }

    /** What Grafana makes of a query for "everything, last minute". */
    private static String substituted(String expr) {
        return expr.replace("$__rate_interval", "4s")
                .replace("$__interval", "1s")
                .replace("$__range", "60s")
                .replace("$window", "1m")
                .replace("$job", "memopt")
                .replace("$instance", exporter.target())
                .replace("$network", ".*")
                .replace("$space", ".*");
    }

    private interface Condition {
        boolean holds() throws IOException, InterruptedException;
    }

    /** A real server needs real time, so this test waits; but not longer than it must. */
    private static boolean eventually(Condition condition) throws IOException, InterruptedException {
        while (!condition.holds()) {
            if (System.nanoTime() > deadline) {
                return condition.holds();
            }
            TimeUnit.MILLISECONDS.sleep(500);
        }
        return true;
    }

    private static String rule(String file) {
        return Dashboards.RULES.resolve(file).toString();
    }

    private static void promtool(Path input, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("promtool"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (input != null) {
            builder.redirectInput(input.toFile());
        }
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor())
                .as("%s:%n%s", String.join(" ", command), output)
                .isZero();
    }
}
