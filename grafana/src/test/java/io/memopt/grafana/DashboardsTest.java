// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.grafana;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.memopt.grafana.Dashboards.Dashboard;
import io.memopt.grafana.Dashboards.Panel;
import io.memopt.grafana.Dashboards.Query;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What every dashboard keeps to, without a server. */
class DashboardsTest {
    private static final int GRID_WIDTH = 24;
    private static final Pattern SELECTOR = Pattern.compile("(memopt_\\w+)(\\{[^}]*})?");
    /** Metrics with the label network, which a query then filters by. */
    private static final Pattern BY_NETWORK =
            Pattern.compile("memopt_(live_bytes|layer_peak_bytes|(iteration|phase)_seconds_\\w+|iteration|epoch)");

    static List<Dashboard> dashboards() {
        return Dashboards.all();
    }

    static List<Panel> panels() {
        return Dashboards.panels();
    }

    static List<Query> queries() {
        return Dashboards.queries();
    }

    @Test
    void dashboards_uidsAndTitles_areUnique() {
        assertThat(dashboards()).hasSizeGreaterThanOrEqualTo(2);
        assertThat(dashboards().stream().map(d -> Dashboards.string(d.json(), "uid")))
                .doesNotHaveDuplicates();
        assertThat(dashboards().stream().map(d -> Dashboards.string(d.json(), "title")))
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @MethodSource("dashboards")
    void dashboard_fileName_isUid(Dashboard dashboard) {
        assertThat(Dashboards.string(dashboard.json(), "uid")).isEqualTo(dashboard.name());
    }

    @ParameterizedTest
    @MethodSource("dashboards")
    void dashboard_variables_chooseDataSourceJobInstanceAndNetwork(Dashboard dashboard) {
        assertThat(dashboard.variables().stream().map(v -> Dashboards.string(v, "name")))
                .contains("datasource", "job", "instance", "network");
        JsonObject network = dashboard.variables().stream()
                .filter(v -> Dashboards.string(v, "name").equals("network"))
                .findFirst()
                .orElseThrow();
        assertThat(network.get("multi").getAsBoolean()).isTrue();
        assertThat(network.get("includeAll").getAsBoolean()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("dashboards")
    void dashboard_panels_haveOwnIdsAndPlaces(Dashboard dashboard) {
        boolean[][] taken = new boolean[GRID_WIDTH][500];
        List<JsonObject> all = Dashboards.elements(dashboard.json(), "panels").toList();

        assertThat(all.stream().map(panel -> panel.get("id").getAsInt())).doesNotHaveDuplicates();
        for (JsonObject panel : all) {
            JsonObject grid = panel.getAsJsonObject("gridPos");
            int x = grid.get("x").getAsInt();
            int y = grid.get("y").getAsInt();
            int right = x + grid.get("w").getAsInt();
            int bottom = y + grid.get("h").getAsInt();
            assertThat(right).as(Dashboards.string(panel, "title")).isBetween(x + 1, GRID_WIDTH);
            for (int column = x; column < right; column++) {
                for (int line = y; line < bottom; line++) {
                    assertThat(taken[column][line])
                            .as("%s at %d, %d", Dashboards.string(panel, "title"), column, line)
                            .isFalse();
                    taken[column][line] = true;
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("panels")
    void panel_any_hasDescriptionUnitAndDataSource(Panel panel) {
        String description = Dashboards.string(panel.json(), "description");
        JsonObject defaults = panel.json().getAsJsonObject("fieldConfig").getAsJsonObject("defaults");

        assertThat(description).hasSizeGreaterThan(60).endsWith(".");
        assertThat(Dashboards.string(defaults, "unit")).isNotEmpty();
        assertThat(Dashboards.string(panel.json().getAsJsonObject("datasource"), "uid"))
                .isEqualTo("${datasource}");
        assertThat(Dashboards.elements(panel.json(), "targets"))
                .isNotEmpty()
                .allSatisfy(target -> assertThat(Dashboards.string(target.getAsJsonObject("datasource"), "uid"))
                        .isEqualTo("${datasource}"));
    }

    /** The other types are not in Grafana's libraries, so nobody could look at them without a server. */
    @ParameterizedTest
    @MethodSource("panels")
    void panel_type_canBeRenderedOffline(Panel panel) {
        assertThat(panel.type()).isIn("timeseries", "stat", "bargauge", "table");
    }

    @ParameterizedTest
    @MethodSource("panels")
    void panel_timeSeries_hasLegendTableWithNumbers(Panel panel) {
        if (!panel.type().equals("timeseries")) {
            return;
        }
        JsonObject legend = panel.json().getAsJsonObject("options").getAsJsonObject("legend");

        assertThat(Dashboards.string(legend, "displayMode")).isEqualTo("table");
        assertThat(legend.getAsJsonArray("calcs")).isNotEmpty();
    }

    @Test
    void panels_seriesWithFixedColor_haveItEverywhere() {
        Map<String, String> colors = new HashMap<>();
        for (Panel panel : panels()) {
            Dashboards.elements(panel.json().getAsJsonObject("fieldConfig"), "overrides")
                    .forEach(override -> {
                        JsonObject matcher = override.getAsJsonObject("matcher");
                        String series = Dashboards.string(matcher, "options");
                        Dashboards.elements(override, "properties")
                                .filter(property ->
                                        Dashboards.string(property, "id").equals("color"))
                                .map(property -> property.getAsJsonObject("value"))
                                .filter(value -> value.has("fixedColor"))
                                .forEach(value -> {
                                    String color = Dashboards.string(value, "fixedColor");
                                    String before = colors.putIfAbsent(series, color);
                                    assertThat(color)
                                            .as("%s, %s", panel, series)
                                            .isEqualTo(before == null ? color : before);
                                });
                    });
        }
        assertThat(colors).containsKeys("parameters", "activations", "backward", "spill");
    }

    @ParameterizedTest
    @MethodSource("queries")
    void query_metrics_areInTheCatalogue(Query query) {
        Set<String> used = Pattern.compile("memopt_\\w+")
                .matcher(query.expr())
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toSet());

        assertThat(used).isNotEmpty().isSubsetOf(Dashboards.metrics());
    }

    @ParameterizedTest
    @MethodSource("queries")
    void query_selectors_filterByVariables(Query query) {
        SELECTOR.matcher(query.expr()).results().forEach(selector -> {
            assertThat(selector.group(2)).as(selector.group()).contains("\"$job\"", "\"$instance\"");
            if (BY_NETWORK.matcher(selector.group(1)).matches()) {
                assertThat(selector.group(2)).as(selector.group()).contains("network=~\"$network\"");
            }
        });
    }

    @Test
    void rules_metrics_areInTheCatalogueOrRecorded() {
        Pattern plain = Pattern.compile("(?<![:\\w])memopt_\\w+");
        Pattern recorded = Pattern.compile("\\w+:memopt_\\w+:\\w+");
        String recording = Dashboards.rules("memopt-recording.yml");
        String alerts = Dashboards.rules("memopt-alerts.yml");

        assertThat(plain.matcher(recording + alerts).results().map(MatchResult::group))
                .isNotEmpty()
                .isSubsetOf(Dashboards.metrics());
        assertThat(recorded.matcher(alerts).results().map(result -> "record: " + result.group()))
                .isNotEmpty()
                .allSatisfy(rule -> assertThat(recording).contains(rule + "\n"));
    }

    @Test
    void rules_eachAlert_saysWhatToDoAndIsTested() {
        String alerts = Dashboards.rules("memopt-alerts.yml");
        String tests = Dashboards.rules("memopt-rules-test.yml");
        String[] parts = alerts.split("- alert: ", -1);

        assertThat(parts).hasSizeGreaterThan(8);
        for (int i = 1; i < parts.length; i++) {
            String name = parts[i].substring(0, parts[i].indexOf('\n'));
            assertThat(parts[i]).as(name).contains("severity:", "summary:", "description:");
            assertThat(tests).as("a test of %s", name).contains(name);
        }
    }
}
