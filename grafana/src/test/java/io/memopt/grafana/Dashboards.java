// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.grafana;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The dashboards, rules and metric names of this module, read for tests. */
final class Dashboards {
    private static final Path ROOT = Path.of("src/main/resources/io/memopt/grafana");
    static final Path RULES = ROOT.resolve("rules");

    private Dashboards() {}

    /** A dashboard and the name of its file without the extension. */
    record Dashboard(String name, JsonObject json) {
        /** All panels except the row titles. */
        List<Panel> panels() {
            return elements(json, "panels")
                    .map(panel -> new Panel(name, panel))
                    .filter(panel -> !panel.type().equals("row"))
                    .toList();
        }

        List<Query> queries() {
            List<Query> queries = new ArrayList<>();
            elements(json.getAsJsonObject("annotations"), "list")
                    .filter(annotation -> annotation.has("expr"))
                    .forEach(annotation -> queries.add(
                            new Query(name, "annotation " + string(annotation, "name"), string(annotation, "expr"))));
            panels().forEach(panel -> queries.addAll(panel.queries()));
            return queries;
        }

        List<JsonObject> variables() {
            return elements(json.getAsJsonObject("templating"), "list").toList();
        }

        @Override
        public String toString() {
            return name;
        }
    }

    record Panel(String dashboard, JsonObject json) {
        String type() {
            return string(json, "type");
        }

        String title() {
            return string(json, "title");
        }

        List<Query> queries() {
            return elements(json, "targets")
                    .map(target -> new Query(dashboard, title(), string(target, "expr")))
                    .toList();
        }

        @Override
        public String toString() {
            return dashboard + " / " + title();
        }
    }

    /** A PromQL expression with Grafana's variables in it, and where it stands. */
    record Query(String dashboard, String panel, String expr) {
        @Override
        public String toString() {
            return dashboard + " / " + panel + ": " + expr;
        }
    }

    static List<Dashboard> all() {
        try (Stream<Path> files = Files.list(ROOT.resolve("dashboards"))) {
            return files.sorted().map(Dashboards::read).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<Panel> panels() {
        return all().stream().flatMap(dashboard -> dashboard.panels().stream()).toList();
    }

    static List<Query> queries() {
        return all().stream().flatMap(dashboard -> dashboard.queries().stream()).toList();
    }

    /** The names in metrics.txt. */
    static Set<String> metrics() {
        return text(ROOT.resolve("metrics.txt"))
                .lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .collect(Collectors.toSet());
    }

    static String rules(String file) {
        return text(RULES.resolve(file));
    }

    static String string(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null ? "" : value.getAsString();
    }

    static Stream<JsonObject> elements(JsonObject object, String name) {
        return object.has(name)
                ? object.getAsJsonArray(name).asList().stream().map(JsonElement::getAsJsonObject)
                : Stream.empty();
    }

    private static Dashboard read(Path file) {
        String name = file.getFileName().toString().replace(".json", "");
        return new Dashboard(name, JsonParser.parseString(text(file)).getAsJsonObject());
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
