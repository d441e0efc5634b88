// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.TraceReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Arrays as a PyTorch memory snapshot: {@code device_traces} holds their allocations and frees, {@code segments} what was
 * live at the end, each array as a segment of one block; {@code external_annotations} the ends of iterations. Workspace blocks are left out: they would count twice. All spaces go
 * to device 0. Streams are thread numbers.
 */
final class MemoryVizExport extends Walk {
    /** Header line of traces that came from a snapshot: its time zero, so that times survive the round trip. */
    static final String TIME_ZERO = "import.startMicros";

    private final PickleWriter pickle;
    private final long zeroMicros;
    private final List<Long> steps = new ArrayList<>();
    private final Map<Integer, List<Map<String, Object>>> frames = new HashMap<>();

    private MemoryVizExport(TraceReader reader, OutputStream out) throws IOException {
        super(reader);
        pickle = new PickleWriter(out);
        String zero = reader.header().properties().get(TIME_ZERO);
        zeroMicros = zero != null && zero.matches("-?\\d{1,18}")
                ? Long.parseLong(zero)
                : ChronoUnit.MICROS.between(Instant.EPOCH, reader.header().start());
    }

    static void write(TraceReader reader, OutputStream out, LongConsumer progress) throws IOException {
        new MemoryVizExport(reader, out).write(progress);
    }

    private void write(LongConsumer progress) throws IOException {
        pickle.beginDict();
        pickle.key("device_traces");
        pickle.beginList();
        pickle.beginList();
        run(progress);
        pickle.endAppends();
        pickle.endAppends();
        pickle.key("segments");
        segments();
        pickle.key("allocator_settings");
        pickle.value(Map.of());
        pickle.key("external_annotations");
        annotations();
        pickle.endItems();
        pickle.end();
    }

    @Override
    public void began(int slot) {
        if (isShown(slot) && !isOlder(slot)) {
            entry("alloc", slot, now);
        }
    }

    @Override
    public void ended(int slot, long time, long thread) {
        if (isShown(slot)) {
            entry("free_requested", slot, time);
            entry("free_completed", slot, time);
        }
    }

    @Override
    public void accept(
            int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
        super.accept(code, time, thread, owner, workspace, address, bytes, extra);
        if (EventCode.kind(code) == EventKind.ITERATION) {
            steps.add(micros(time));
        }
    }

    /** Ends of iterations, as PyTorch notes those of optimiser steps. */
    private void annotations() throws IOException {
        pickle.beginList();
        for (long step : steps) {
            pickle.beginDict();
            field("stage", "END");
            field("name", "Optimizer.step#iteration");
            field("device", 0);
            field("time_us", step);
            pickle.endItems();
        }
        pickle.endAppends();
    }

    private long micros(long time) {
        return zeroMicros + Math.floorDiv(time - reader.header().startNanos(), 1000);
    }

    private boolean isShown(int slot) {
        return live.kind(slot) != AllocationKind.WORKSPACE_BLOCK && live.requestedBytes(slot) > 0;
    }

    private boolean isOlder(int slot) {
        return reader.owner(live.owner(slot)).network().equals(Frames.BEFORE);
    }

    private void entry(String action, int slot, long time) {
        try {
            pickle.beginDict();
            field("action", action);
            field("addr", addressOf(slot));
            field("size", live.requestedBytes(slot));
            field("stream", live.thread(slot));
            field("time_us", micros(time));
            field("frames", framesOf(slot));
            pickle.endItems();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void segments() throws IOException {
        List<Integer> slots = new ArrayList<>();
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (live.isLive(slot) && isShown(slot)) {
                slots.add(slot);
            }
        }
        slots.sort(Comparator.comparingLong(this::addressOf));
        pickle.beginList();
        for (int slot : slots) {
            segment(slot);
        }
        pickle.endAppends();
    }

    private void segment(int slot) throws IOException {
        long rounded = live.roundedBytes(slot);
        pickle.beginDict();
        field("device", 0);
        field("address", addressOf(slot));
        field("total_size", rounded);
        field("allocated_size", rounded);
        field("active_size", rounded);
        field("requested_size", live.requestedBytes(slot));
        field("stream", live.thread(slot));
        field("segment_type", "large");
        field("is_expandable", false);
        pickle.key("blocks");
        pickle.beginList();
        pickle.beginDict();
        field("address", addressOf(slot));
        field("size", rounded);
        field("requested_size", live.requestedBytes(slot));
        field("state", "active_allocated");
        field("frames", framesOf(slot));
        pickle.endItems();
        pickle.endAppends();
        pickle.endItems();
    }

    private List<Map<String, Object>> framesOf(int slot) {
        int owner = live.owner(slot);
        List<Map<String, Object>> known = frames.get(owner);
        if (known == null) {
            Owner named = reader.owner(owner);
            known = Frames.of(named);
            if (!named.equals(Owner.UNKNOWN)) {
                frames.put(owner, known);
            }
        }
        return known;
    }

    private void field(String name, Object value) throws IOException {
        pickle.key(name);
        pickle.value(value);
    }
}
