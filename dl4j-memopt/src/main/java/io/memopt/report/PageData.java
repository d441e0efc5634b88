// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.LiveReplay;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceSummary;
import io.memopt.analysis.FragmentationSample;
import io.memopt.analysis.Growth;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TransferBin;
import io.memopt.analysis.TransferRow;
import io.memopt.analysis.Waste;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The head of the page's data as JSON: figures, tables, and packed columns for the pictures. Times are nanoseconds since
 * the start of the trace, sizes bytes, spaces names; {@code model.js} reads it.
 */
final class PageData {
    private static final Gson GSON = new Gson();

    private final TraceReader reader;
    private final TraceSummary summary;
    private final PageRecorder recorder;
    private final LiveReplay replay;
    private final TraceAnalysis analysis;
    private final JsonObject json = new JsonObject();

    PageData(TraceReader reader, TraceSummary summary, PageRecorder recorder, TraceAnalysis analysis) {
        this.reader = reader;
        this.summary = summary;
        this.recorder = recorder;
        this.analysis = analysis;
        this.replay = recorder.scan.replay();
    }

    /** Safe inside a script element: Gson escapes angle brackets. */
    String render(Path trace) {
        json.addProperty("file", String.valueOf(trace.getFileName()));
        json.addProperty("start", reader.header().start().toString());
        json.addProperty("end", recorder.scan.endTime());
        json.add("facts", facts());
        json.addProperty("events", summary.events());
        json.addProperty("memoryEvents", recorder.scan.memoryEvents());
        json.addProperty("lifetimeCount", recorder.lifetimes.lifetimes());
        json.addProperty("detailedUntil", recorder.lifetimes.detailedUntil());
        json.addProperty("exact", replay.isExact());
        json.add("categories", names(Category.values()));
        json.add("phases", names(Phase.values()));
        json.add("kinds", names(AllocationKind.values()));
        json.add("spaces", spaces());
        json.add("owners", owners());
        List<Row> usage = usage();
        json.add("usage", usageOf(usage));
        json.add("samples", samples(usage));
        json.add("layers", layers());
        json.add("workspaces", workspaces());
        json.add("iterations", iterations());
        json.add("collections", collections());
        json.addProperty(
                "thread", reader.threadName(recorder.scan.busiestThread()).orElse(""));
        json.add("blocks", blockIndex());
        json.add("waste", waste());
        json.addProperty("focus", analysis.focus().name());
        json.add("fragmentation", fragmentation());
        json.add("transfers", transfers());
        json.add("transferBins", transferBins());
        json.add("findings", GSON.toJsonTree(new Findings(reader, summary, recorder, analysis).all()));
        return GSON.toJson(json);
    }

    private JsonArray facts() {
        JsonArray facts = new JsonArray();
        reader.header().properties().forEach((name, value) -> {
            boolean internal = name.startsWith("enum.") || name.startsWith("event.") || name.startsWith("start.");
            if (!internal) {
                facts.add(GSON.toJsonTree(List.of(name, value)));
            }
        });
        return facts;
    }

    /** For each space its figures, its timeline and its address axis. */
    private JsonArray spaces() {
        JsonArray spaces = new JsonArray();
        TraceScan scan = recorder.scan;
        MemorySpace[] all = MemorySpace.values();
        for (PageRecorder.View view : recorder.views) {
            MemorySpace space = view.space();
            JsonObject one = new JsonObject();
            one.addProperty("name", space.name());
            one.addProperty("ordinal", List.of(all).indexOf(space));
            one.addProperty("inUse", replay.inUseBytes(space));
            one.addProperty("reserved", replay.reservedBytes(space));
            one.addProperty("peakInUse", replay.peakInUseBytes(space));
            one.addProperty("peakInUseAt", scan.peakTime(space));
            one.addProperty("peakReserved", replay.peakReservedBytes(space));
            one.addProperty("peakReservedAt", scan.reservedPeakTime(space));
            one.add("peakOwners", peakOwners(space));
            one.addProperty("binCount", view.bins().size());
            one.addProperty("bins", view.bins().pack());
            one.addProperty("gridColumns", view.grid().columns());
            one.addProperty("gridRows", AddressGrid.ROWS);
            one.addProperty("grid", view.grid().pack());
            one.addProperty("height", scan.addresses(space).height());
            one.add("regions", GSON.toJsonTree(scan.addresses(space).regions()));
            List<PageRecorder.Block> blocks = recorder.blocks.stream()
                    .filter(block -> block.space() == space)
                    .toList();
            one.addProperty("blockCount", blocks.size());
            one.addProperty("blocks", packBlocks(blocks));
            spaces.add(one);
        }
        return spaces;
    }

    private static String packBlocks(List<PageRecorder.Block> blocks) {
        Columns columns = new Columns();
        for (PageRecorder.Block block : blocks) {
            columns.add(block.birth())
                    .add(block.death())
                    .add(block.place())
                    .add(block.bytes())
                    .add(block.workspace());
        }
        return columns.pack();
    }

    /** Owner, bytes and number of arrays at the peak, most bytes first. */
    private JsonArray peakOwners(MemorySpace space) {
        JsonArray rows = new JsonArray();
        recorder.peaks.getOrDefault(space, Map.of()).entrySet().stream()
                .sorted(Comparator.comparingLong((Map.Entry<Integer, long[]> row) -> -row.getValue()[0])
                        .thenComparing(Map.Entry::getKey))
                .forEach(row ->
                        rows.add(GSON.toJsonTree(new long[] {row.getKey(), row.getValue()[0], row.getValue()[1]})));
        return rows;
    }

    private JsonArray owners() {
        JsonArray rows = new JsonArray();
        reader.owners().entrySet().stream().sorted(Map.Entry.comparingByKey()).forEach(entry -> {
            Owner owner = entry.getValue();
            rows.add(GSON.toJsonTree(List.of(
                    entry.getKey(),
                    owner.network(),
                    owner.layer(),
                    owner.phase().ordinal(),
                    owner.category().ordinal(),
                    owner.workspace())));
        });
        return rows;
    }

    private record Row(int owner, OwnerUsage usage) {}

    private List<Row> usage() {
        Map<Owner, Integer> ids = new HashMap<>();
        reader.owners().forEach((id, owner) -> ids.put(owner, id));
        List<Row> rows = new ArrayList<>();
        for (OwnerUsage usage : replay.usage(reader::owner)) {
            rows.add(new Row(ids.getOrDefault(usage.owner(), 0), usage));
        }
        rows.sort(Comparator.comparingLong((Row row) -> -row.usage.liveBytes())
                .thenComparingLong(row -> -row.usage.peakBytes())
                .thenComparingInt(row -> row.owner));
        return rows;
    }

    /** Owner, space, live, peak, allocations, allocated, time of the oldest live (-1: none), then slope, its interval, step. */
    private JsonArray usageOf(List<Row> rows) {
        Map<List<Object>, Long> oldest = new HashMap<>();
        recorder.tracker.forEachLive(lifetime -> {
            if (!lifetime.isBlock()) {
                oldest.merge(List.of(lifetime.owner, lifetime.space), lifetime.allocated, Math::min);
            }
        });
        Map<List<Object>, Growth> growth = new HashMap<>();
        analysis.growth().forEach(one -> growth.put(List.of(one.owner(), one.space()), one));
        JsonArray array = new JsonArray();
        for (Row row : rows) {
            OwnerUsage usage = row.usage;
            JsonArray one = new JsonArray();
            one.add(row.owner);
            one.add(usage.space().ordinal());
            one.add(usage.liveBytes());
            one.add(usage.peakBytes());
            one.add(usage.allocations());
            one.add(usage.allocatedBytes());
            one.add(oldest.getOrDefault(List.of(row.owner, usage.space()), -1L));
            Growth slope = growth.get(List.of(usage.owner(), usage.space()));
            if (slope != null) {
                one.add(slope.bytesPerStep());
                one.add(slope.lowBytesPerStep());
                one.add(slope.highBytesPerStep());
                one.add(slope.step().name().toLowerCase(Locale.ROOT));
            }
            array.add(one);
        }
        return array;
    }

    /** Kind, bytes (-1: not in a trace), remark, of the analysis' focus space at its reserved peak. */
    private JsonObject waste() {
        JsonArray parts = new JsonArray();
        for (Waste.Part part : analysis.waste().parts()) {
            JsonArray one = new JsonArray();
            one.add(part.kind().name().toLowerCase(Locale.ROOT));
            one.add(part.bytes().orElse(-1));
            one.add(part.remark());
            parts.add(one);
        }
        JsonObject waste = new JsonObject();
        waste.addProperty("reserved", analysis.waste().reservedBytes());
        waste.add("parts", parts);
        return waste;
    }

    /**
     * Time, reserved, in use, in blocks, free in blocks, largest hole, holes, rounding, holes by power of two; all of the
     * analysis' focus space.
     */
    private JsonArray fragmentation() {
        JsonArray rows = new JsonArray();
        for (FragmentationSample sample : analysis.fragmentation()) {
            rows.add(GSON.toJsonTree(List.of(
                    sinceStart(sample.timeNanos()),
                    sample.reservedBytes(),
                    sample.inUseBytes(),
                    sample.blockBytes(),
                    sample.freeBytes(),
                    sample.largestHoleBytes(),
                    sample.holes(),
                    sample.roundingBytes(),
                    sample.holesByLog2())));
        }
        return rows;
    }

    /** Direction, copies, bytes, nanoseconds, overlapped bytes, bytes into page-locked memory (-1: unknown). */
    private JsonArray transfers() {
        JsonArray rows = new JsonArray();
        for (TransferRow row : analysis.transfers()) {
            rows.add(GSON.toJsonTree(List.of(
                    row.direction().name(),
                    row.copies(),
                    row.bytes(),
                    row.nanos(),
                    row.overlappedBytes(),
                    row.pinnedBytes().orElse(-1))));
        }
        return rows;
    }

    /** Direction, from, to, copies, bytes, nanoseconds. */
    private JsonArray transferBins() {
        JsonArray rows = new JsonArray();
        for (TransferBin bin : analysis.transferBins()) {
            rows.add(GSON.toJsonTree(List.of(
                    bin.direction().name(),
                    sinceStart(bin.fromNanos()),
                    sinceStart(bin.toNanos()),
                    bin.copies(),
                    bin.bytes(),
                    bin.nanos())));
        }
        return rows;
    }

    private long sinceStart(long timeNanos) {
        return Math.max(0, timeNanos - analysis.facts().startNanos());
    }

    /** Times, then the live bytes of each row of usage at those times. */
    private JsonObject samples(List<Row> rows) {
        Columns columns = new Columns();
        long[] times = recorder.history.times();
        columns.addDeltas(times, times.length);
        for (Row row : rows) {
            columns.addDeltas(recorder.history.of(row.owner, row.usage.space()), times.length);
        }
        JsonObject samples = new JsonObject();
        samples.addProperty("count", times.length);
        samples.addProperty("packed", columns.pack());
        return samples;
    }

    /** Network, layer, phase (-1: all), peak, its time, allocated, allocations. */
    private JsonArray layers() {
        JsonArray rows = new JsonArray();
        recorder.layers.rows().stream()
                .sorted(Comparator.comparingLong((LayerPeaks.Row row) -> -row.peak)
                        .thenComparing(row -> row.key.toString()))
                .forEach(row -> rows.add(GSON.toJsonTree(List.of(
                        row.key.network(),
                        row.key.layer(),
                        row.key.phase() == null ? -1 : row.key.phase().ordinal(),
                        row.peak,
                        row.peakTime,
                        row.allocated,
                        row.allocations))));
        return rows;
    }

    private JsonArray workspaces() {
        JsonArray rows = new JsonArray();
        recorder.workspaces.instances().forEach((id, instance) -> {
            JsonObject one = new JsonObject();
            one.addProperty("id", id);
            one.addProperty(
                    "name", reader.workspace(id).map(info -> info.name()).orElse("workspace " + id));
            one.addProperty(
                    "thread",
                    reader.workspace(id).map(info -> info.threadName()).orElse(""));
            one.addProperty(
                    "circular",
                    reader.workspace(id).map(info -> info.circular()).orElse(false));
            one.addProperty("reserved", instance.reserved);
            one.addProperty("peakReserved", instance.peakReserved);
            one.addProperty("peakUsed", instance.peakUsed);
            one.addProperty("maxCycle", instance.maxCycle);
            one.addProperty("spills", instance.spills);
            one.addProperty("spilledBytes", instance.spilledBytes);
            one.addProperty("resizes", Math.max(0, instance.blocks - 1));
            one.addProperty("scopes", instance.scopes);
            one.addProperty("lastEntered", instance.lastEntered);
            one.addProperty("count", instance.rows());
            one.addProperty("rows", instance.pack());
            rows.add(one);
        });
        return rows;
    }

    private JsonObject iterations() {
        int count = recorder.iterations.size();
        long[] times = new long[count];
        long[] numbers = new long[count];
        long[] epochs = new long[count];
        Columns columns = new Columns();
        for (int i = 0; i < count; i++) {
            times[i] = recorder.iterations.get(i).time();
            numbers[i] = recorder.iterations.get(i).number();
            epochs[i] = recorder.iterations.get(i).epoch();
        }
        columns.addDeltas(times, count).addDeltas(numbers, count).addDeltas(epochs, count);
        for (PageRecorder.Iteration iteration : recorder.iterations) {
            columns.add(iteration.owner());
        }
        return packed(count, columns);
    }

    private JsonObject collections() {
        Columns columns = new Columns();
        for (PageRecorder.Collection pause : recorder.collections) {
            columns.add(pause.time()).add(pause.durationNanos()).add(pause.forced() ? 1 : 0);
        }
        return packed(recorder.collections.size(), columns);
    }

    private JsonObject blockIndex() {
        JsonObject index = new JsonObject();
        index.addProperty("lifetimeBlocks", recorder.lifetimes.blocks());
        index.addProperty("lifetimeIndex", recorder.lifetimes.packIndex());
        index.addProperty("contextBlocks", recorder.contexts.blocks());
        index.addProperty("contextIndex", recorder.contexts.packIndex());
        return index;
    }

    private static JsonObject packed(int count, Columns columns) {
        JsonObject object = new JsonObject();
        object.addProperty("count", count);
        object.addProperty("packed", columns.pack());
        return object;
    }

    private static JsonElement names(Enum<?>[] constants) {
        JsonArray names = new JsonArray();
        for (Enum<?> constant : constants) {
            names.add(constant.name().toLowerCase(Locale.ROOT));
        }
        return names;
    }
}
