// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A PyTorch memory snapshot as a trace of device memory. Sizes are rounded up to 512 B as PyTorch does; a free counts from
 * its request on, as in PyTorch's counter of allocated bytes. What was live before recording began is put at its start: the
 * blocks of the final state that no event made, and what is freed without having been made. Streams become thread numbers,
 * stacks the layers of owners, see {@link Frames}; ends of optimiser steps become iterations.
 *
 * <p>Segments have no place in a trace without counting bytes twice: reserved bytes are those of the blocks. {@code memopt
 * replay --allocator caching} says what PyTorch would reserve.
 */
final class MemoryVizImport {
    private static final long ROUNDING = 512;

    private final Path source;
    private final Map<?, ?> snapshot;

    private MemoryVizImport(Path source, Map<?, ?> snapshot) {
        this.source = source;
        this.snapshot = snapshot;
    }

    static void read(Path source, Path target, LongConsumer progress) throws IOException {
        Object root = PickleReader.read(source);
        if (!(root instanceof Map<?, ?> snapshot)) {
            throw malformed(source, "a dictionary", String.valueOf(root));
        }
        new MemoryVizImport(source, snapshot).write(target, progress);
    }

    private void write(Path target, LongConsumer progress) throws IOException {
        List<Map<?, ?>> events = events();
        long zero = events.isEmpty() ? 0 : number(events.get(0), "time_us");
        for (Map<?, ?> event : events) {
            zero = Math.min(zero, number(event, "time_us"));
        }
        Map<String, String> properties = new LinkedHashMap<>();
        properties.put(MemoryVizExport.TIME_ZERO, Long.toString(zero));
        properties.put("import.from", "memory_viz");
        try (ImportedTrace trace = new ImportedTrace(target, MemorySpace.DEVICE, properties, progress)) {
            older(trace, events);
            List<Long> steps = steps();
            int step = 0;
            for (Map<?, ?> event : events) {
                for (; step < steps.size() && steps.get(step) < number(event, "time_us"); step++) {
                    trace.stepped(Math.max(0, steps.get(step) - zero) * 1000, step);
                }
                play(trace, event, zero);
            }
            for (; step < steps.size(); step++) {
                trace.stepped(Math.max(0, steps.get(step) - zero) * 1000, step);
            }
        }
    }

    /** When the optimiser had finished a step, in order. */
    private List<Long> steps() throws IOException {
        List<Long> steps = new ArrayList<>();
        if (snapshot.get("external_annotations") instanceof List<?> annotations) {
            for (Object each : annotations) {
                if (each instanceof Map<?, ?> annotation
                        && String.valueOf(annotation.get("stage")).equals("END")
                        && String.valueOf(annotation.get("name")).startsWith("Optimizer.step#")) {
                    steps.add(number(annotation, "time_us"));
                }
            }
        }
        steps.sort(Comparator.naturalOrder());
        return steps;
    }

    /** The events of all devices. Two devices may use the same addresses, hence one device only. */
    private List<Map<?, ?>> events() throws IOException {
        List<Map<?, ?>> events = new ArrayList<>();
        for (Object device : list(snapshot, "device_traces")) {
            if (device instanceof List<?> entries && !entries.isEmpty()) {
                if (!events.isEmpty()) {
                    throw malformed(source, "events of one device", "events of several");
                }
                for (Object entry : entries) {
                    if (!(entry instanceof Map<?, ?> event)) {
                        throw malformed(source, "a dictionary for each event", String.valueOf(entry));
                    }
                    events.add(event);
                }
            }
        }
        return events;
    }

    /** Brings in what lived before the first event. */
    private void older(ImportedTrace trace, List<Map<?, ?>> events) throws IOException {
        Set<Long> made = new HashSet<>();
        for (Map<?, ?> event : events) {
            long address = number(event, "addr");
            switch (String.valueOf(event.get("action"))) {
                case "alloc" -> made.add(address);
                case "free_requested", "free" -> {
                    if (!made.remove(address)) {
                        old(trace, address, number(event, "size"), event);
                    }
                }
                default -> {}
            }
        }
        for (Object each : list(snapshot, "segments")) {
            if (each instanceof Map<?, ?> segment) {
                for (Object item : list(segment, "blocks")) {
                    if (item instanceof Map<?, ?> block
                            && String.valueOf(block.get("state")).equals("active_allocated")) {
                        long address = number(block, "address");
                        if (!made.contains(address)) {
                            old(trace, address, number(block, "requested_size"), block);
                        }
                    }
                }
            }
        }
    }

    private void old(ImportedTrace trace, long address, long size, Map<?, ?> from) throws IOException {
        if (!trace.isLive(address)) {
            Owner owner = Frames.owner(framesOf(from), true);
            trace.allocated(0, 0, owner, address, size, rounded(size));
        }
    }

    private void play(ImportedTrace trace, Map<?, ?> event, long zero) throws IOException {
        long nanos = (number(event, "time_us") - zero) * 1000;
        long address = number(event, "addr");
        long stream = event.get("stream") instanceof Number n ? n.longValue() : 0;
        switch (String.valueOf(event.get("action"))) {
            case "alloc" -> {
                long size = number(event, "size");
                Owner owner = Frames.owner(framesOf(event), false);
                trace.allocated(nanos, stream, owner, address, size, rounded(size));
            }
            case "free_requested", "free" -> trace.freed(nanos, stream, address);
            case "oom" -> trace.failed(nanos, stream, number(event, "size"));
            default -> {} // free_completed is the second half of a free; segments and snapshots have no place
        }
    }

    private static Object framesOf(Map<?, ?> from) {
        Object frames = from.get("frames");
        return frames == null ? List.of() : frames;
    }

    private static long rounded(long size) {
        return Math.max(ROUNDING, (size + ROUNDING - 1) / ROUNDING * ROUNDING);
    }

    private List<?> list(Map<?, ?> from, String key) throws IOException {
        if (from.get(key) instanceof List<?> list) {
            return list;
        }
        throw malformed(source, "a list \"" + key + "\"", String.valueOf((@Nullable Object) from.get(key)));
    }

    private long number(Map<?, ?> from, String key) throws IOException {
        Object value = from.get(key);
        if (value instanceof Number number) {
            return number.longValue();
        }
        if (value == null && key.equals("addr")) {
            return 0; // snapshots and out-of-memory events have none
        }
        throw malformed(source, "a number \"" + key + "\"", String.valueOf(value));
    }

    private static FileFormatException malformed(Path source, String expected, String found) {
        String shown = found.length() > 80 ? found.substring(0, 80) + "..." : found;
        return new FileFormatException(
                source,
                "the unpickled data",
                expected,
                shown,
                "Write it with torch.cuda.memory._record_memory_history() and _dump_snapshot(path) of PyTorch 2.1 or"
                        + " later");
    }
}
