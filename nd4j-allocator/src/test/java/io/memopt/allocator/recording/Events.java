// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Events for tests: seeded ones, and a sink that keeps what it hears. */
final class Events {
    private Events() {}

    /** Any sequence of valid primitives, extreme numbers included; owners and workspaces are registered. */
    static List<MemoryEvent> drawn(Random random, int n, OwnerTable owners, WorkspaceTable workspaces) {
        for (int i = 0; i < 20; i++) {
            owners.idOf(new Owner(
                    "net" + i % 2,
                    "layer_ü" + i,
                    Phase.values()[i % Phase.values().length],
                    Category.values()[i % Category.values().length],
                    i % 3 == 0 ? "" : "WS_" + i));
            workspaces.add("WS_" + i, Thread.currentThread(), i % 2 == 0);
        }
        Collector events = new Collector();
        for (int i = 0; i < n; i++) {
            draw(random, events);
        }
        return events.all();
    }

    /** Hands {@code event} to {@code sink} as the primitives it came from. */
    static void send(MemoryEvent event, EventSink sink) {
        long time = event.timeNanos();
        long thread = event.thread();
        int owner = event.owner();
        int plain = EventCode.of(event.kind());
        switch (event.kind()) {
            case ALLOCATE -> {
                MemoryEvent.Allocate e = (MemoryEvent.Allocate) event;
                int code = EventCode.of(e.kind(), e.allocation(), e.space());
                sink.accept(
                        code, time, thread, owner, e.workspace(), e.address(), e.requestedBytes(), e.roundedBytes());
            }
            case FREE -> {
                MemoryEvent.Free e = (MemoryEvent.Free) event;
                int code = EventCode.of(e.kind(), e.allocation(), e.space());
                sink.accept(code, time, thread, owner, e.workspace(), e.address(), e.roundedBytes(), e.ageNanos());
            }
            case TRANSFER -> {
                MemoryEvent.Transfer e = (MemoryEvent.Transfer) event;
                MemorySpace hostEnd = e.hostEnd();
                int code = hostEnd == null
                        ? EventCode.transfer(e.direction())
                        : EventCode.transfer(e.direction(), hostEnd);
                sink.accept(code, time, thread, owner, 0, e.address(), e.bytes(), e.durationNanos());
            }
            case SCOPE_ENTER -> {
                MemoryEvent.ScopeEnter e = (MemoryEvent.ScopeEnter) event;
                sink.accept(plain, time, thread, owner, e.workspace(), 0, e.reservedBytes(), e.generation());
            }
            case SCOPE_RELEASE -> {
                MemoryEvent.ScopeRelease e = (MemoryEvent.ScopeRelease) event;
                sink.accept(plain, time, thread, owner, e.workspace(), 0, e.arrayBytes(), e.reservedBytes());
            }
            case CONTEXT -> sink.accept(plain, time, thread, owner, 0, 0, 0, 0);
            case ITERATION -> {
                MemoryEvent.Iteration e = (MemoryEvent.Iteration) event;
                sink.accept(plain, time, thread, owner, 0, 0, e.iteration(), e.epoch());
            }
            case RECLASSIFY -> {
                MemoryEvent.Reclassify e = (MemoryEvent.Reclassify) event;
                int code = EventCode.of(e.kind(), e.allocation(), e.space());
                sink.accept(code, time, thread, owner, 0, e.address(), e.roundedBytes(), e.previousOwner());
            }
            case ALLOCATION_FAILURE -> {
                MemoryEvent.AllocationFailure e = (MemoryEvent.AllocationFailure) event;
                int code = EventCode.of(e.kind(), AllocationKind.DETACHED, e.space());
                sink.accept(code, time, thread, owner, e.workspace(), 0, e.requestedBytes(), 0);
            }
            case GARBAGE_COLLECTION -> {
                MemoryEvent.GarbageCollection e = (MemoryEvent.GarbageCollection) event;
                sink.accept(plain, time, thread, owner, 0, 0, e.durationNanos(), e.forced() ? 1 : 0);
            }
            case ORIGIN -> {
                MemoryEvent.Origin e = (MemoryEvent.Origin) event;
                int code = EventCode.of(e.kind(), e.allocation(), e.space());
                sink.accept(code, time, thread, owner, 0, e.address(), e.views(), e.site());
            }
            case PROCESS -> {
                MemoryEvent.ProcessSample e = (MemoryEvent.ProcessSample) event;
                sink.accept(plain, time, thread, owner, 0, 0, e.residentBytes(), e.javaBytes());
            }
            case LAST_USE -> {
                MemoryEvent.LastUse e = (MemoryEvent.LastUse) event;
                int code = EventCode.of(e.kind(), e.allocation(), e.space());
                sink.accept(code, time, thread, owner, e.workspace(), e.address(), e.idleNanos(), e.span());
            }
        }
    }

    private static void draw(Random random, EventSink sink) {
        EventKind kind = EventKind.values()[random.nextInt(EventKind.values().length)];
        int code = kind == EventKind.TRANSFER
                ? EventCode.transfer(
                        TransferDirection.values()[random.nextInt(4)],
                        MemorySpace.values()[random.nextInt(MemorySpace.values().length)])
                : EventCode.of(
                        kind, AllocationKind.values()[random.nextInt(5)], MemorySpace.values()[random.nextInt(3)]);
        long extra = kind == EventKind.RECLASSIFY || kind == EventKind.ORIGIN ? random.nextInt(20) : number(random);
        long thread =
                random.nextInt(4) == 0 ? number(random) : Thread.currentThread().getId();
        sink.accept(
                code,
                number(random),
                thread,
                random.nextInt(21),
                random.nextInt(21),
                number(random),
                number(random),
                extra);
    }

    private static long number(Random random) {
        return random.nextLong() >> random.nextInt(64);
    }

    /** Keeps events, from any thread. */
    static final class Collector implements TraceVisitor {
        private final List<MemoryEvent> events = Collections.synchronizedList(new ArrayList<>());
        final List<Long> gaps = new ArrayList<>();
        final List<Long> corruptAt = new ArrayList<>();

        @Override
        public void accept(
                int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
            events.add(MemoryEvent.of(code, timeNanos, thread, owner, workspace, address, bytes, extra));
        }

        @Override
        public void gap(long missing) {
            gaps.add(missing);
        }

        @Override
        public void corrupt(long offset, long bytes) {
            corruptAt.add(offset);
        }

        List<MemoryEvent> all() {
            return events;
        }
    }
}
