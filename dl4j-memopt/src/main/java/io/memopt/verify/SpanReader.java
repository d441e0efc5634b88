// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.analysis.LiveSet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the lives of all allocations of one space that hold memory of their own, in order of their begins. Memory: about
 * 100 B for each of them, so for the length of a test.
 */
final class SpanReader implements LiveSet.Listener {
    private final TraceReader reader;
    private final MemorySpace space;
    private final LiveSet live;
    private final Map<Integer, Span> bySlot = new HashMap<>();
    private final List<Span> spans = new ArrayList<>();

    private SpanReader(TraceReader reader, MemorySpace space) {
        this.reader = reader;
        this.space = space;
        this.live = new LiveSet(reader.header().startNanos(), this);
    }

    static List<Span> read(TraceReader reader, MemorySpace space) throws IOException {
        SpanReader spans = new SpanReader(reader, space);
        reader.read(spans.live);
        return spans.spans;
    }

    @Override
    public void began(int slot) {
        if (live.space(slot) == space && live.kind(slot).ownsMemory()) {
            Span span = new Span(
                    live.kind(slot), reader.owner(live.owner(slot)), live.roundedBytes(slot), live.startNanos(slot));
            spans.add(span);
            bySlot.put(slot, span);
        }
    }

    @Override
    public void moved(int slot, int previousOwner) {
        Span span = bySlot.get(slot);
        if (span != null) {
            span.owner = reader.owner(live.owner(slot));
        }
    }

    @Override
    public void ended(int slot, long timeNanos, long thread) {
        Span span = bySlot.remove(slot);
        if (span != null) {
            span.endNanos = timeNanos;
            span.collected = reader.threadName(thread)
                    .filter(name -> name.contains("Deallocator"))
                    .isPresent();
        }
    }
}
