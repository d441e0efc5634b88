// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Valid events without any sense: all kinds and spaces, equal times, unknown addresses, memory from before the trace. */
final class RandomTrace {
    private record Live(int code, int owner, int workspace, long address, long bytes, long time) {}

    private RandomTrace() {}

    static void write(Path file, long seed, int events) throws IOException {
        OwnerTable owners = new OwnerTable();
        WorkspaceTable workspaces = new WorkspaceTable();
        Random random = new Random(seed);
        List<Live> live = new ArrayList<>();
        long[] arrays = new long[4];
        for (int i = 1; i < arrays.length; i++) {
            workspaces.add("WS_" + i, Thread.currentThread(), i == 3);
        }
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            long time = writer.header().startNanos();
            for (int i = 0; i < events; i++) {
                time += random.nextInt(3) == 0 ? 0 : random.nextInt(5_000);
                one(writer, owners, random, live, arrays, time);
                if (i % 10_000 == 0) {
                    writer.flush(Duration.ofSeconds(10));
                }
            }
        }
    }

    private static void one(
            EventSink sink, OwnerTable owners, Random random, List<Live> live, long[] arrays, long time) {
        int owner = owners.idOf(new Owner(
                "net",
                "layer" + random.nextInt(6),
                Phase.values()[random.nextInt(Phase.values().length)],
                Category.values()[random.nextInt(Category.values().length)],
                random.nextBoolean() ? "" : "WS"));
        MemorySpace space = MemorySpace.values()[random.nextInt(3)];
        int workspace = 1 + random.nextInt(3);
        long bytes = 16L * (1 + random.nextInt(4_000));
        long address = random.nextInt(20) == 0
                ? 0
                : 0x7f00_0000_0000L + live.size() * 0x1_0000L + random.nextInt(8) * (1L << 32);
        switch (random.nextInt(12)) {
            case 0, 1, 2 -> {
                AllocationKind kind = new AllocationKind[] {
                            AllocationKind.DETACHED, AllocationKind.SPILL, AllocationKind.WORKSPACE_BLOCK
                        }
                        [random.nextInt(3)];
                int code = EventCode.of(EventKind.ALLOCATE, kind, space);
                boolean taken = address != 0 && live.stream().anyMatch(one -> one.address == address);
                if (!taken) {
                    int of = kind == AllocationKind.DETACHED ? 0 : workspace;
                    sink.accept(code, time, 1, owner, of, address, bytes, bytes);
                    live.add(new Live(code, owner, of, address, bytes, time));
                }
            }
            case 3, 4, 5 -> {
                int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, space);
                sink.accept(code, time, 1, owner, workspace, address, bytes - 4, bytes);
                arrays[workspace] += bytes;
            }
            case 6 -> {
                sink.accept(EventCode.of(EventKind.SCOPE_RELEASE), time, 1, owner, workspace, 0, arrays[workspace], 0);
                arrays[workspace] = 0;
            }
            case 7, 8 -> {
                if (!live.isEmpty()) {
                    Live end = live.remove(random.nextInt(live.size()));
                    int code = EventCode.of(EventKind.FREE, EventCode.allocation(end.code), EventCode.space(end.code));
                    sink.accept(code, time, 1, end.owner, end.workspace, end.address, end.bytes, time - end.time);
                }
            }
            case 9 -> reclassify(sink, random, live, owner, time);
            case 10 -> sink.accept(EventCode.of(EventKind.CONTEXT), time, 1, owner, 0, 0, 0, 0);
            default -> {
                int code = EventCode.of(EventKind.FREE, AllocationKind.DETACHED, space);
                sink.accept(code, time, 1, owner, 0, 0x10, 64, Long.MAX_VALUE / 4);
            }
        }
    }

    private static void reclassify(EventSink sink, Random random, List<Live> live, int owner, long time) {
        List<Live> known = live.stream()
                .filter(one -> one.address != 0 && EventCode.allocation(one.code) != AllocationKind.WORKSPACE_BLOCK)
                .toList();
        if (known.isEmpty()) {
            return;
        }
        Live before = known.get(random.nextInt(known.size()));
        int code = EventCode.of(EventKind.RECLASSIFY, EventCode.allocation(before.code), EventCode.space(before.code));
        sink.accept(code, time, 1, owner, 0, before.address, before.bytes, before.owner);
        live.remove(before);
        live.add(new Live(before.code, owner, before.workspace, before.address, before.bytes, before.time));
    }
}
