// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.report.SyntheticTraining;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every figure that is both in the page and in {@code summary --json} is the same in both. */
class FiguresAgreeTest {
    @TempDir
    Path folder;

    private JsonObject page = new JsonObject();
    private JsonObject summary = new JsonObject();

    @Test
    void figures_ofSyntheticTraining_agree() throws IOException {
        Path trace = folder.resolve("synthetic.memopt");
        SyntheticTraining.write(trace, 60_000);

        read(trace);

        assertAgreement();
        assertThat(page.getAsJsonArray("transfers")).hasSize(1);
        assertThat(page.getAsJsonArray("fragmentation").size()).isGreaterThan(100);
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void figures_ofRealTraining_agree(Networks family) throws IOException {
        Path trace = folder.resolve("real.memopt");
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(trace).build())) {
            for (int i = 0; i < 6; i++) {
                Networks.fit(model, family.data(8, i));
            }
        } finally {
            MemoryHooks.uninstall();
        }

        read(trace);

        assertAgreement();
    }

    private void assertAgreement() {
        assertThat(page.get("events").getAsLong()).isEqualTo(number(summary.getAsJsonObject("facts"), "events"));
        assertThat(page.get("exact")).isEqualTo(summary.getAsJsonObject("facts").get("exact"));
        assertThat(page.get("focus")).isEqualTo(summary.get("focus"));
        assertPeaks();
        assertWaste();
        assertFragmentation();
        assertTransfers();
        assertWorkspaces();
        assertLayers();
        assertGrowth();
        assertThat(number(page.getAsJsonObject("iterations"), "count"))
                .isEqualTo(summary.getAsJsonArray("iterations").size());
        assertThat(number(page.getAsJsonObject("collections"), "count"))
                .isEqualTo(number(summary.getAsJsonObject("collections"), "collections"));
    }

    private void assertPeaks() {
        for (JsonObject peak : objects(summary.getAsJsonArray("peaks"))) {
            JsonObject space = objects(page.getAsJsonArray("spaces")).stream()
                    .filter(one -> one.get("name").equals(peak.get("space")))
                    .findFirst()
                    .orElseThrow();
            String measure = peak.get("measure").getAsString().equals("RESERVED") ? "peakReserved" : "peakInUse";
            assertThat(number(space, measure)).isEqualTo(number(peak, "bytes"));
            assertThat(number(space, measure + "At")).isEqualTo(number(peak, "timeNanos") - start());
        }
    }

    private void assertWaste() {
        JsonObject waste = summary.getAsJsonObject("waste");
        assertThat(number(page.getAsJsonObject("waste"), "reserved")).isEqualTo(number(waste, "reservedBytes"));
        List<List<Object>> expected = new ArrayList<>();
        for (JsonObject part : objects(waste.getAsJsonArray("parts"))) {
            long bytes = part.get("bytes").isJsonNull() ? -1 : number(part, "bytes");
            expected.add(List.of(part.get("kind").getAsString().toLowerCase(Locale.ROOT), bytes));
        }
        List<List<Object>> shown = new ArrayList<>();
        for (JsonArray part : rows(page.getAsJsonObject("waste").getAsJsonArray("parts"))) {
            shown.add(List.of(part.get(0).getAsString(), part.get(1).getAsLong()));
        }
        assertThat(shown).isEqualTo(expected);
    }

    private void assertFragmentation() {
        List<List<Object>> expected = new ArrayList<>();
        for (JsonObject sample : objects(summary.getAsJsonArray("fragmentation"))) {
            expected.add(List.of(
                    number(sample, "timeNanos") - start(),
                    number(sample, "reservedBytes"),
                    number(sample, "inUseBytes"),
                    number(sample, "blockBytes"),
                    number(sample, "freeBytes"),
                    number(sample, "largestHoleBytes"),
                    number(sample, "holes"),
                    number(sample, "roundingBytes"),
                    sample.get("holesByLog2").toString()));
        }
        List<List<Object>> shown = new ArrayList<>();
        for (JsonArray row : rows(page.getAsJsonArray("fragmentation"))) {
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                values.add(row.get(i).getAsLong());
            }
            values.add(row.get(8).toString());
            shown.add(values);
        }
        assertThat(shown).isEqualTo(expected).isNotEmpty();
    }

    private void assertTransfers() {
        List<List<Object>> expected = new ArrayList<>();
        for (JsonObject row : objects(summary.getAsJsonArray("transfers"))) {
            expected.add(List.of(
                    row.get("direction").getAsString(),
                    number(row, "copies"),
                    number(row, "bytes"),
                    number(row, "nanos"),
                    number(row, "overlappedBytes"),
                    row.get("pinnedBytes").isJsonNull() ? -1L : number(row, "pinnedBytes")));
        }
        List<List<Object>> shown = new ArrayList<>();
        for (JsonArray row : rows(page.getAsJsonArray("transfers"))) {
            List<Object> values = new ArrayList<>(List.of(row.get(0).getAsString()));
            for (int i = 1; i < 6; i++) {
                values.add(row.get(i).getAsLong());
            }
            shown.add(values);
        }
        assertThat(shown).isEqualTo(expected);
        assertThat(sum(page.getAsJsonArray("transferBins"), 4)).isEqualTo(sum(page.getAsJsonArray("transfers"), 2));
        assertThat(page.getAsJsonArray("transferBins")).hasSameSizeAs(summary.getAsJsonArray("transferBins"));
    }

    private void assertWorkspaces() {
        Map<Long, JsonObject> shown = new HashMap<>();
        objects(page.getAsJsonArray("workspaces")).forEach(row -> shown.put(number(row, "id"), row));
        List<JsonObject> expected = objects(summary.getAsJsonArray("workspaces"));
        assertThat(shown).hasSameSizeAs(expected);
        for (JsonObject row : expected) {
            JsonObject same = shown.get(number(row, "id"));
            assertThat(same.get("name")).isEqualTo(row.get("name"));
            assertThat(List.of(number(same, "spills"), number(same, "spilledBytes"), number(same, "resizes")))
                    .containsExactly(number(row, "spills"), number(row, "spilledBytes"), number(row, "resizes"));
        }
    }

    private void assertLayers() {
        Map<List<String>, Long> allocated = new HashMap<>();
        for (JsonObject row : objects(summary.getAsJsonArray("layers"))) {
            JsonObject key = row.getAsJsonObject("key");
            allocated.merge(
                    List.of(key.get("network").getAsString(), key.get("layer").getAsString()),
                    number(row, "allocations"),
                    Long::sum);
        }
        Map<List<String>, Long> shown = new HashMap<>();
        for (JsonArray row : rows(page.getAsJsonArray("layers"))) {
            if (row.get(2).getAsInt() < 0) {
                shown.put(
                        List.of(row.get(0).getAsString(), row.get(1).getAsString()),
                        row.get(6).getAsLong());
            }
        }
        assertThat(shown).isEqualTo(allocated).isNotEmpty();
    }

    private void assertGrowth() {
        Map<List<Object>, Double> slopes = new HashMap<>();
        for (JsonObject row : objects(summary.getAsJsonArray("growth"))) {
            slopes.put(
                    List.of(
                            owner(row.getAsJsonObject("owner")),
                            row.get("space").getAsString()),
                    row.get("bytesPerStep").getAsDouble());
        }
        Map<Integer, String> owners = new HashMap<>();
        for (JsonArray row : rows(page.getAsJsonArray("owners"))) {
            owners.put(row.get(0).getAsInt(), owner(row));
        }
        Map<List<Object>, Double> shown = new HashMap<>();
        for (JsonArray row : rows(page.getAsJsonArray("usage"))) {
            if (row.size() > 7) {
                String space = io.memopt.allocator.event.MemorySpace.values()[
                        row.get(1).getAsInt()].name();
                shown.put(
                        List.of(owners.get(row.get(0).getAsInt()), space),
                        row.get(7).getAsDouble());
            }
        }
        assertThat(shown).isEqualTo(slopes);
    }

    private String owner(JsonArray row) {
        return String.join(
                "/",
                row.get(1).getAsString(),
                row.get(2).getAsString(),
                page.getAsJsonArray("phases").get(row.get(3).getAsInt()).getAsString(),
                page.getAsJsonArray("categories").get(row.get(4).getAsInt()).getAsString(),
                row.get(5).getAsString());
    }

    private static String owner(JsonObject row) {
        return String.join(
                "/",
                row.get("network").getAsString(),
                row.get("layer").getAsString(),
                row.get("phase").getAsString().toLowerCase(Locale.ROOT),
                row.get("category").getAsString().toLowerCase(Locale.ROOT),
                row.get("workspace").getAsString());
    }

    private long start() {
        return number(summary.getAsJsonObject("facts"), "startNanos");
    }

    private void read(Path trace) throws IOException {
        Path html = folder.resolve("page.html");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertThat(run(out, err, "report", trace.toString(), "-o", html.toString()))
                .as(err.toString())
                .isEqualTo(ExitCode.OK);
        StringWriter json = new StringWriter();
        assertThat(run(json, err, "summary", "--json", trace.toString()))
                .as(err.toString())
                .isEqualTo(ExitCode.OK);
        Matcher data = Pattern.compile("<script type=\"application/json\" id=\"data\">(.*?)</script>")
                .matcher(Files.readString(html));
        assertThat(data.find()).isTrue();
        page = JsonParser.parseString(data.group(1)).getAsJsonObject();
        summary = JsonParser.parseString(json.toString()).getAsJsonObject();
    }

    private static int run(StringWriter out, StringWriter err, String... arguments) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), arguments);
    }

    private static long number(JsonObject object, String name) {
        return object.get(name).getAsLong();
    }

    private static long sum(JsonArray rows, int column) {
        return rows(rows).stream().mapToLong(row -> row.get(column).getAsLong()).sum();
    }

    private static List<JsonArray> rows(JsonArray rows) {
        List<JsonArray> all = new ArrayList<>();
        rows.forEach(row -> all.add(row.getAsJsonArray()));
        return all;
    }

    private static List<JsonObject> objects(JsonArray array) {
        List<JsonObject> all = new ArrayList<>();
        for (JsonElement one : array) {
            all.add(one.getAsJsonObject());
        }
        return all;
    }
}
