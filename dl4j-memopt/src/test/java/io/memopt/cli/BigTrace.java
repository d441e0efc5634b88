// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Writes a trace of any length, as of a network of 50 layers: workspaces that are entered and released, detached arrays that a
 * collector frees in bursts, some that are never freed, 40,000 live at once.
 */
final class BigTrace {
    private static final int LAYERS = 50;
    private static final int BURST = 40_000;
    private static final int FLUSH_EVERY = 100_000;

    private final Random random = new Random(1);
    private final OwnerTable owners = new OwnerTable();
    private final WorkspaceTable workspaces = new WorkspaceTable();
    private final ArrayDeque<long[]> detached = new ArrayDeque<>();
    private final TraceWriter writer;
    private final boolean uses;
    /** Owner, address and birth of the arrays in each workspace. */
    private final Map<Integer, List<long[]>> placed = new HashMap<>();

    private long births;
    private long now;
    private long events;
    private long nextAddress = 1L << 32;

    private BigTrace(Path file, boolean uses) throws IOException {
        this.uses = uses;
        writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS.withQueueBlocks(1024));
        now = writer.header().startNanos();
    }

    static void write(Path file, long events) throws IOException {
        write(file, events, false);
    }

    /** With {@code uses} the trace tells when each workspace array was last used. */
    static void write(Path file, long events, boolean uses) throws IOException {
        BigTrace trace = new BigTrace(file, uses);
        try (TraceWriter ignored = trace.writer) {
            trace.run(events);
        }
        if (trace.writer.lostEvents() > 0) {
            throw new IOException(trace.writer.lostEvents() + " events were lost");
        }
    }

    private void run(long most) {
        int activations = block("WS_ALL_LAYERS_ACT", 1L << 30);
        int working = block("WS_LAYER_WORKING_MEM", 1L << 28);
        for (long iteration = 0; events < most; iteration++) {
            long filled = 0;
            emit(EventCode.of(EventKind.SCOPE_ENTER), 0, activations, 0, 1L << 30, iteration);
            for (int step = 0; step < 2 * LAYERS && events < most; step++) {
                filled += layer(step, activations, working, filled);
            }
            release(activations, filled, 1L << 30);
            emit(EventCode.of(EventKind.ITERATION), owner(0, Phase.NONE, ""), 0, 0, iteration, 0);
        }
    }

    private long layer(int step, int activations, int working, long filled) {
        Phase phase = step < LAYERS ? Phase.FORWARD : Phase.BACKWARD;
        int layer = step < LAYERS ? step : 2 * LAYERS - 1 - step;
        emit(EventCode.of(EventKind.CONTEXT), owner(layer, phase, ""), 0, 0, 0, 0);
        emit(EventCode.of(EventKind.SCOPE_ENTER), 0, working, 0, 1L << 28, step);
        long scratch = 0;
        for (int i = 0; i < 4; i++) {
            scratch += array(owner(layer, phase, "WS_LAYER_WORKING_MEM"), working, 1L << 41, scratch);
        }
        long bytes = array(owner(layer, phase, "WS_ALL_LAYERS_ACT"), activations, 1L << 40, filled);
        release(working, scratch, 1L << 28);
        detach(owner(layer, phase, ""));
        return bytes;
    }

    private long array(int owner, int workspace, long base, long offset) {
        long requested = 1L + random.nextInt(1 << 20);
        long rounded = (requested + 31) / 32 * 32;
        int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, MemorySpace.HOST);
        emit(code, owner, workspace, base + offset, requested, rounded);
        placed.computeIfAbsent(workspace, id -> new ArrayList<>()).add(new long[] {owner, base + offset, births++});
        return rounded;
    }

    private void release(int workspace, long bytes, long reserved) {
        for (long[] array : placed.getOrDefault(workspace, List.of())) {
            int code = EventCode.of(EventKind.LAST_USE, AllocationKind.WORKSPACE_ARRAY, MemorySpace.HOST);
            if (uses) {
                long span = 1L + random.nextInt((int) (births - array[2]));
                emit(code, (int) array[0], workspace, array[1], 0, span);
            }
        }
        placed.remove(workspace);
        emit(EventCode.of(EventKind.SCOPE_RELEASE), 0, workspace, 0, bytes, reserved);
    }

    private void detach(int owner) {
        for (int i = 0; i < 2; i++) {
            long bytes = 1L + random.nextInt(8000);
            detached.add(new long[] {nextAddress, bytes, now, owner});
            int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.DETACHED, MemorySpace.HOST);
            emit(code, owner, 0, nextAddress, bytes, bytes);
            nextAddress += 8192;
        }
        while (detached.size() > BURST || (detached.size() > BURST / 2 && random.nextInt(3) > 0)) {
            long[] a = detached.poll();
            if (random.nextInt(1000) > 0) {
                int code = EventCode.of(EventKind.FREE, AllocationKind.DETACHED, MemorySpace.HOST);
                emit(code, (int) a[3], 0, a[0], a[1], now - a[2]);
            }
        }
    }

    private int block(String name, long bytes) {
        int id = workspaces.add(name, Thread.currentThread(), false);
        int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);
        emit(code, owner(0, Phase.FORWARD, name), id, (1L << 40) * id, bytes, bytes);
        return id;
    }

    private int owner(int layer, Phase phase, String workspace) {
        Category category = workspace.equals("WS_ALL_LAYERS_ACT") ? Category.ACTIVATIONS : Category.WORKING_MEMORY;
        return owners.idOf(new Owner("net", "layer" + layer, phase, category, workspace));
    }

    private void emit(int code, int owner, int workspace, long address, long bytes, long extra) {
        writer.accept(code, now, Thread.currentThread().getId(), owner, workspace, address, bytes, extra);
        now += 200 + random.nextInt(500);
        if (++events % FLUSH_EVERY == 0) {
            writer.flush(Duration.ofMinutes(1));
        }
    }
}
