// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.strategy.budget.BudgetReport;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/** Writes a {@link MemorySummary} as JSON. Field names are part of the public format. */
final class SummaryJson {
    private static final Gson GSON = new GsonBuilder()
            .registerTypeHierarchyAdapter(Enum.class, (JsonSerializer<Enum<?>>)
                    (constant, type, context) -> new JsonPrimitive(name(constant)))
            .registerTypeAdapter(double.class, (JsonSerializer<Double>) (value, type, context) -> number(value))
            .registerTypeAdapter(Double.class, (JsonSerializer<Double>) (value, type, context) -> number(value))
            .serializeNulls()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .create();

    private SummaryJson() {}

    static String render(MemorySummary summary) {
        JsonObject json = new JsonObject();
        summary.environment().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(fact -> json.addProperty(fact.getKey(), fact.getValue()));
        json.addProperty("iterations", summary.iterations());
        json.add("stepMillisMedian", number(summary.stepMillisMedian()));
        json.add("extraPasses", extraPasses(summary));
        json.add("networks", array(summary.networks()));
        json.addProperty("peakBytes", summary.reservedPeak().bytes());
        json.add("peakAt", peak(summary.reservedPeak()));
        json.addProperty("usedPeakBytes", summary.usedPeak().bytes());
        json.add("usedPeakAt", peak(summary.usedPeak()));
        json.add("liveByCategory", categories(summary.liveByCategory()));
        json.addProperty("reservedBytes", summary.reservedBytes());
        json.addProperty("usedBytes", summary.usedBytes());
        json.add("attributedShare", number(summary.attributedShare()));
        json.add("residentBytes", number(summary.residentBytes()));
        json.add("unattributedBytes", number(summary.unattributedBytes()));
        json.add("overheadShare", number(summary.overheadShare()));
        json.addProperty("events", summary.events());
        json.add("flows", array(summary.flows()));
        json.add("layers", array(summary.layers()));
        json.add("workspaces", array(summary.workspaces()));
        json.add("threads", array(summary.threads()));
        json.add("prefetchers", array(summary.prefetchers()));
        json.add("garbage", array(summary.garbage()));
        json.addProperty("releasedBytes", summary.releasedBytes());
        json.add("operations", array(summary.operations()));
        json.add("notes", array(summary.notes()));
        JsonArray budgets = new JsonArray();
        summary.budgets().forEach(budget -> budgets.add(budget(budget)));
        json.add("budgets", budgets);
        return GSON.toJson(json);
    }

    private static JsonObject budget(BudgetReport budget) {
        JsonObject json = new JsonObject();
        json.addProperty("asked", budget.asked());
        json.addProperty("limitBytes", budget.limitBytes());
        json.addProperty("batch", budget.batch());
        json.add("plain", GSON.toJsonTree(budget.plain()));
        json.add("chosen", GSON.toJsonTree(budget.chosen()));
        json.add("front", array(budget.front()));
        json.add("actualPeakBytes", number(budget.actualPeakBytes()));
        json.add("actualStepMillis", number(budget.actualStepMillis().orElse(Double.NaN)));
        json.addProperty("decidingBytes", budget.decidingBytes());
        json.add("decidingMillis", number(budget.decidingMillis()));
        json.addProperty("remembered", budget.remembered());
        return json;
    }

    /** All kinds, so that programs find each. */
    private static JsonObject extraPasses(MemorySummary summary) {
        JsonObject json = new JsonObject();
        for (ExtraPass kind : ExtraPass.values()) {
            json.addProperty(name(kind), summary.extraPasses().getOrDefault(kind, 0L));
        }
        return json;
    }

    private static JsonObject peak(MemorySummary.Peak peak) {
        JsonObject json = new JsonObject();
        json.addProperty("iteration", peak.iteration());
        json.addProperty("phase", name(peak.phase()));
        json.addProperty("layer", peak.layer());
        json.addProperty("network", peak.network());
        json.add("inUse", categories(peak.inUse()));
        return json;
    }

    private static JsonObject categories(Map<Category, Long> bytes) {
        JsonObject json = new JsonObject();
        for (Category category : Category.values()) {
            if (bytes.containsKey(category)) {
                json.addProperty(name(category), bytes.get(category));
            }
        }
        return json;
    }

    /** As in the peaks, the printed summary and the metrics. */
    private static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    private static JsonArray array(List<?> rows) {
        JsonArray json = new JsonArray();
        rows.forEach(row -> json.add(GSON.toJsonTree(row)));
        return json;
    }

    /** JSON knows no NaN. */
    private static JsonElement number(double value) {
        return Double.isFinite(value) ? new JsonPrimitive(value) : JsonNull.INSTANCE;
    }

    private static JsonElement number(OptionalLong value) {
        return value.isPresent() ? new JsonPrimitive(value.getAsLong()) : JsonNull.INSTANCE;
    }
}
