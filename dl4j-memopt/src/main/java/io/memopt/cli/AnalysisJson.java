// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceDiff;
import io.memopt.analysis.replay.ReplayRow;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Writes results as JSON: the records as they are, field names included. Absent figures are null, and so are numbers that JSON
 * does not know; constants are upper case.
 */
final class AnalysisJson {
    private static final Gson GSON = new GsonBuilder()
            .serializeNulls()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .registerTypeAdapter(OptionalLong.class, (JsonSerializer<OptionalLong>) (value, type, context) ->
                    value.isPresent() ? new JsonPrimitive(value.getAsLong()) : JsonNull.INSTANCE)
            .registerTypeAdapter(OptionalDouble.class, (JsonSerializer<OptionalDouble>)
                    (value, type, context) -> value.isPresent() ? number(value.getAsDouble()) : JsonNull.INSTANCE)
            .registerTypeHierarchyAdapter(Optional.class, (JsonSerializer<Optional<?>>)
                    (value, type, context) -> value.isPresent() ? context.serialize(value.get()) : JsonNull.INSTANCE)
            .registerTypeAdapter(Double.class, (JsonSerializer<Double>) (value, type, context) -> number(value))
            .registerTypeAdapter(double.class, (JsonSerializer<Double>) (value, type, context) -> number(value))
            .registerTypeAdapter(Instant.class, (JsonSerializer<Instant>)
                    (value, type, context) -> new JsonPrimitive(value.toString()))
            .create();

    private AnalysisJson() {}

    static void write(TraceAnalysis analysis, PrintWriter out) {
        GSON.toJson(GSON.toJsonTree(analysis), out);
    }

    static void write(TraceDiff diff, boolean over, PrintWriter out) {
        JsonObject json = GSON.toJsonTree(diff).getAsJsonObject();
        json.addProperty("reservedGrowth", diff.reservedGrowth());
        json.addProperty("overThreshold", over);
        GSON.toJson(json, out);
    }

    static void write(List<ReplayRow> rows, PrintWriter out) {
        GSON.toJson(GSON.toJsonTree(rows), out);
    }

    private static JsonElement number(double value) {
        return Double.isFinite(value) ? new JsonPrimitive(value) : JsonNull.INSTANCE;
    }
}
