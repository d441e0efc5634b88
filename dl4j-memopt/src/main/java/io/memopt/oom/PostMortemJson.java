// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.OwnerUsage;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Writes a {@link PostMortem} as JSON. Field names are part of the public format. */
final class PostMortemJson {
    private static final Gson GSON = new GsonBuilder()
            .serializeNulls()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .create();

    private PostMortemJson() {}

    static String render(PostMortem dead) {
        JsonObject json = new JsonObject();
        json.addProperty("failure", dead.failure());
        json.addProperty("kind", name(dead.kind()));
        json.addProperty("cause", name(dead.diagnosis().cause()));
        json.addProperty("why", dead.diagnosis().why());
        json.add("request", dead.moment().map(PostMortemJson::request).orElse(JsonNull.INSTANCE));
        json.addProperty("phase", dead.phase());
        json.add("batch", number(dead.batch()));
        json.add("largestBatch", number(dead.largestBatch()));
        json.add("inUse", dead.moment().map(PostMortemJson::composition).orElse(JsonNull.INSTANCE));
        json.add("owners", dead.moment().map(PostMortemJson::owners).orElse(JsonNull.INSTANCE));
        json.add("blocks", dead.moment().map(PostMortemJson::blocks).orElse(JsonNull.INSTANCE));
        json.addProperty("growthBytesPerIteration", dead.growth().bytesPerIteration());
        json.addProperty("growthIterations", dead.growth().iterations());
        json.add("residentBytes", number(dead.state().residentBytes()));
        json.addProperty("tensorBytes", dead.state().tensorBytes());
        json.addProperty("workspaceBytes", dead.state().workspaceBytes());
        json.add("holders", GSON.toJsonTree(dead.state().holders()));
        JsonArray remedies = new JsonArray();
        dead.remedies().forEach(remedy -> remedies.add(remedy(remedy)));
        json.add("remedies", remedies);
        return GSON.toJson(json);
    }

    private static JsonElement request(FailureMoment moment) {
        JsonObject json = owner(moment.owner());
        json.addProperty("bytes", moment.requestedBytes());
        json.addProperty("space", name(moment.space()));
        json.addProperty("kind", name(moment.kind()));
        json.addProperty("iteration", moment.iteration());
        json.addProperty("reservedBytes", moment.reservedBytes());
        return json;
    }

    private static JsonObject owner(Owner owner) {
        JsonObject json = new JsonObject();
        json.addProperty("network", owner.network());
        json.addProperty("layer", owner.layer());
        json.addProperty("phase", name(owner.phase()));
        json.addProperty("category", name(owner.category()));
        json.addProperty("workspace", owner.workspace());
        return json;
    }

    private static JsonElement composition(FailureMoment moment) {
        JsonObject json = new JsonObject();
        moment.inUse().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> json.addProperty(name(entry.getKey()), entry.getValue()));
        return json;
    }

    private static JsonElement owners(FailureMoment moment) {
        JsonArray rows = new JsonArray();
        for (OwnerUsage usage : moment.owners()) {
            JsonObject row = owner(usage.owner());
            row.addProperty("bytes", usage.liveBytes());
            rows.add(row);
        }
        return rows;
    }

    private static JsonElement blocks(FailureMoment moment) {
        JsonArray rows = new JsonArray();
        for (FailureMoment.Block block : moment.blocks()) {
            JsonObject row = new JsonObject();
            row.addProperty("workspace", block.workspace());
            row.addProperty("thread", block.thread());
            row.addProperty("address", block.address());
            row.addProperty("bytes", block.bytes());
            row.addProperty("filledBytes", block.filledBytes());
            row.addProperty("holeBytes", block.holeBytes());
            rows.add(row);
        }
        return rows;
    }

    private static JsonElement remedy(Remedy remedy) {
        JsonObject json = new JsonObject();
        json.addProperty("action", remedy.action());
        json.addProperty("effect", remedy.effect());
        json.add("peakBytes", number(remedy.peakBytes()));
        json.addProperty("exactness", remedy.exactness());
        return json;
    }

    private static JsonElement number(OptionalLong value) {
        return value.isPresent() ? new JsonPrimitive(value.getAsLong()) : JsonNull.INSTANCE;
    }

    private static JsonElement number(OptionalInt value) {
        return value.isPresent() ? new JsonPrimitive(value.getAsInt()) : JsonNull.INSTANCE;
    }

    private static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
