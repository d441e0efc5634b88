// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.TraceReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Shows a trace on a time line: counters for what is reserved and in use by space and in use by category, tracks for
 * iterations, layers and phases, transfers, collections, spills. A counter is written when its value changed, at most once for
 * each event.
 */
final class TimelineExport extends Walk {
    private final Timeline timeline;
    private final long[] categories = new long[Category.values().length];
    private final Map<String, Long> written = new HashMap<>();
    private final Map<Long, Running> contexts = new HashMap<>();
    private final Map<Long, Long> iterationStarts = new HashMap<>();

    private record Running(String name, long since) {}

    TimelineExport(TraceReader reader, Timeline timeline) {
        super(reader);
        this.timeline = timeline;
    }

    void write(LongConsumer progress) throws IOException {
        timeline.begin("dl4j-memopt " + reader.header().properties().getOrDefault("pid", ""));
        run(progress);
        for (Map.Entry<Long, Running> entry : contexts.entrySet()) {
            timeline.slice(track(entry.getKey()), entry.getValue().name, entry.getValue().since, at(now));
        }
        timeline.end();
    }

    @Override
    public void accept(
            int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
        super.accept(code, time, thread, owner, workspace, address, bytes, extra);
        iterationStarts.putIfAbsent(thread, at(time));
        try {
            switch (EventCode.kind(code)) {
                case ALLOCATE, FREE, SCOPE_RELEASE, RECLASSIFY -> counters(time);
                case CONTEXT -> context(thread, time, reader.owner(owner));
                case ITERATION -> {
                    Long start = iterationStarts.put(thread, at(time));
                    timeline.slice(
                            "iterations of " + track(thread),
                            "iteration " + bytes,
                            start == null ? at(time) : start,
                            at(time));
                }
                case TRANSFER ->
                    timeline.slice(
                            "transfers of " + track(thread),
                            lower(EventCode.direction(code)) + " " + ByteSize.scaled(bytes),
                            at(time - extra),
                            at(time));
                case GARBAGE_COLLECTION ->
                    timeline.slice(
                            "Java garbage collections",
                            extra != 0 ? "forced" : "collection",
                            at(time - bytes),
                            at(time));
                case ALLOCATION_FAILURE ->
                    timeline.instant(track(thread), "refused " + ByteSize.scaled(bytes), at(time));
                case SCOPE_ENTER, LAST_USE, ORIGIN, PROCESS -> {}
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void began(int slot) {
        AllocationKind kind = live.kind(slot);
        if (kind != AllocationKind.WORKSPACE_BLOCK) {
            categories[category(live.owner(slot))] += live.roundedBytes(slot);
        }
        if (kind == AllocationKind.SPILL || kind == AllocationKind.PINNED_SPILL) {
            try {
                timeline.instant(
                        track(live.thread(slot)),
                        "spill from " + reader.owner(live.owner(slot)).workspace() + " "
                                + ByteSize.scaled(live.roundedBytes(slot)),
                        at(now));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void ended(int slot, long time, long thread) {
        if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
            categories[category(live.owner(slot))] -= live.roundedBytes(slot);
        }
    }

    @Override
    public void moved(int slot, int before) {
        if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
            categories[category(before)] -= live.roundedBytes(slot);
            categories[category(live.owner(slot))] += live.roundedBytes(slot);
        }
    }

    private void counters(long time) throws IOException {
        for (MemorySpace space : MemorySpace.values()) {
            counter("reserved " + lower(space), time, live.reservedBytes(space));
            counter("in use " + lower(space), time, live.inUseBytes(space));
        }
        for (Category category : Category.values()) {
            counter("category " + lower(category), time, categories[category.ordinal()]);
        }
    }

    private void counter(String name, long time, long bytes) throws IOException {
        Long before = written.get(name);
        if (before == null ? bytes != 0 : before != bytes) {
            written.put(name, bytes);
            timeline.counter(name, at(time), bytes);
        }
    }

    private void context(long thread, long time, Owner owner) throws IOException {
        Running before = contexts.remove(thread);
        if (before != null) {
            timeline.slice(track(thread), before.name, before.since, at(time));
        }
        if (owner.phase() != Phase.NONE) {
            String layer = owner.layer().isEmpty() ? "" : owner.layer() + " ";
            contexts.put(thread, new Running(layer + lower(owner.phase()), at(time)));
        }
    }

    private int category(int owner) {
        return reader.owner(owner).category().ordinal();
    }

    private String track(long thread) {
        return reader.threadName(thread).orElse("thread") + " (" + thread + ")";
    }

    private long at(long time) {
        return Math.max(0, time - reader.header().startNanos());
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
