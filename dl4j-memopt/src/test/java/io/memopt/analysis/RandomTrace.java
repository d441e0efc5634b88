// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Writes a trace of random but consistent events: what is freed was allocated, arrays lie in blocks without overlap, and where
 * uses are asked for most workspace arrays tell a last use before their end.
 */
final class RandomTrace {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    private final Random random;
    private final OwnerTable owners = new OwnerTable();
    private final WorkspaceTable workspaces = new WorkspaceTable();
    private final List<long[]> own = new ArrayList<>(); // address, rounded, start, owner, kind, space, workspace
    private final Map<Integer, long[]> blocks = new HashMap<>(); // address, rounded, start, owner, space, fill
    private final int[] ids = new int[4];
    private TraceWriter writer;
    private long now;
    private long nextAddress = 1 << 20;
    private long iteration;
    private final boolean uses;
    private final Map<Integer, List<long[]>> arrays = new HashMap<>(); // address, birth, time
    private final Map<Long, long[]> spills = new HashMap<>();
    private long births;

    private RandomTrace(long seed, boolean uses) {
        random = new Random(seed);
        this.uses = uses;
    }

    static void write(Path file, long seed, int events) throws IOException {
        new RandomTrace(seed, false).write(file, events);
    }

    static void writeWithUses(Path file, long seed, int events) throws IOException {
        new RandomTrace(seed, true).write(file, events);
    }

    private void write(Path file, int events) throws IOException {
        try (TraceWriter out = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            writer = out;
            now = out.header().startNanos();
            for (int i = 0; i < ids.length; i++) {
                ids[i] = workspaces.add("WS_" + i % 3, Thread.currentThread(), false);
            }
            for (int i = 0; i < events; i++) {
                now += random.nextInt(50);
                step();
                if (i % 10_000 == 0) {
                    out.flush(Duration.ofSeconds(10));
                }
            }
        }
    }

    private void step() {
        int workspace = ids[random.nextInt(ids.length)];
        switch (random.nextInt(12)) {
            case 0, 1, 2 -> allocate(AllocationKind.DETACHED, 0);
            case 3 -> allocate(AllocationKind.SPILL, workspace);
            case 4, 5 -> array(workspace);
            case 6 -> release(workspace);
            case 7 -> resize(workspace);
            case 8 -> reclassify();
            case 9 -> other(workspace);
            default -> free();
        }
    }

    private void allocate(AllocationKind kind, int workspace) {
        long requested = 1L + random.nextInt(5000);
        long rounded = requested + random.nextInt(100);
        MemorySpace space = SPACES[random.nextInt(2)];
        int owner = owner(workspace);
        long address = random.nextInt(8) == 0 ? 0 : take(rounded);
        own.add(new long[] {address, rounded, now, owner, kind.ordinal(), space.ordinal(), workspace});
        emit(EventCode.of(EventKind.ALLOCATE, kind, space), owner, workspace, address, requested, rounded);
        if (kind == AllocationKind.SPILL) {
            spills.put(address, new long[] {address, births++, now});
        }
    }

    private void free() {
        if (own.isEmpty()) {
            return;
        }
        long[] a = own.remove(random.nextInt(own.size()));
        AllocationKind kind = AllocationKind.values()[(int) a[4]];
        if (kind == AllocationKind.SPILL && a[0] != 0) {
            lastUse(spills.get(a[0]), kind, SPACES[(int) a[5]], (int) a[6]);
        }
        emit(EventCode.of(EventKind.FREE, kind, SPACES[(int) a[5]]), (int) a[3], (int) a[6], a[0], a[1], now - a[2]);
    }

    private void array(int workspace) {
        long[] block = blocks.get(workspace);
        if (block == null) {
            resize(workspace);
            return;
        }
        long requested = 1L + random.nextInt(300);
        long rounded = (requested + 31) / 32 * 32;
        if (block[5] + rounded > block[1]) {
            release(workspace);
            return;
        }
        emit(
                EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, SPACES[(int) block[4]]),
                owner(workspace),
                workspace,
                block[0] + block[5],
                requested,
                rounded);
        arrays.computeIfAbsent(workspace, id -> new ArrayList<>()).add(new long[] {block[0] + block[5], births++, now});
        block[5] += rounded;
    }

    /** Three in four arrays tell when they were last used, one in ten of these that it never was. */
    private void lastUse(long[] array, AllocationKind kind, MemorySpace space, int workspace) {
        if (uses && random.nextInt(4) > 0) {
            long span = random.nextInt(10) == 0 ? 0 : 1 + random.nextInt((int) (births - array[1]));
            long idle = random.nextInt((int) (now - array[2]) + 1);
            emit(EventCode.of(EventKind.LAST_USE, kind, space), owner(workspace), workspace, array[0], idle, span);
        }
    }

    private void release(int workspace) {
        long[] block = blocks.get(workspace);
        if (block != null && block[5] > 0) {
            List<long[]> ending = arrays.remove(workspace);
            for (int i = ending.size() - 1; i >= 0; i--) {
                lastUse(ending.get(i), AllocationKind.WORKSPACE_ARRAY, SPACES[(int) block[4]], workspace);
            }
            emit(EventCode.of(EventKind.SCOPE_RELEASE), owner(workspace), workspace, 0, block[5], block[1]);
            block[5] = 0;
        }
    }

    private void resize(int workspace) {
        release(workspace);
        long[] old = blocks.remove(workspace);
        int space = old == null ? random.nextInt(2) : (int) old[4];
        if (old != null) {
            emit(
                    EventCode.of(EventKind.FREE, AllocationKind.WORKSPACE_BLOCK, SPACES[space]),
                    (int) old[3],
                    workspace,
                    old[0],
                    old[1],
                    now - old[2]);
        }
        long bytes = 1000L + random.nextInt(3000);
        int owner = owner(workspace);
        long[] block = {take(bytes), bytes, now, owner, space, 0};
        blocks.put(workspace, block);
        emit(
                EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_BLOCK, SPACES[space]),
                owner,
                workspace,
                block[0],
                bytes,
                bytes);
    }

    private void reclassify() {
        if (own.isEmpty()) {
            return;
        }
        long[] a = own.get(random.nextInt(own.size()));
        if (a[0] == 0) {
            return;
        }
        int after = owners.idOf(owners.ownerOf((int) a[3]).withCategory(Category.PARAMETERS));
        emit(
                EventCode.of(EventKind.RECLASSIFY, AllocationKind.values()[(int) a[4]], SPACES[(int) a[5]]),
                after,
                (int) a[6],
                a[0],
                a[1],
                a[3]);
        a[3] = after;
    }

    private void other(int workspace) {
        switch (random.nextInt(4)) {
            case 0 -> emit(EventCode.of(EventKind.ITERATION), owner(0), 0, 0, iteration++, 0);
            case 1 -> emit(EventCode.transfer(TransferDirection.HOST_TO_DEVICE), owner(0), 0, 7, 100, 10);
            case 2 -> emit(EventCode.of(EventKind.CONTEXT), owner(0), 0, 0, 0, 0);
            default -> emit(EventCode.of(EventKind.SCOPE_ENTER), owner(workspace), workspace, 0, 0, 1);
        }
    }

    private long take(long bytes) {
        long address = nextAddress;
        nextAddress += bytes + random.nextInt(200);
        return address;
    }

    private int owner(int workspace) {
        String name = workspace == 0 ? "" : workspaces.get(workspace).name();
        Phase phase = Phase.values()[random.nextInt(Phase.values().length)];
        Category category = random.nextBoolean() ? Category.ACTIVATIONS : Category.WORKING_MEMORY;
        return owners.idOf(new Owner("net", "layer" + random.nextInt(3), phase, category, name));
    }

    private void emit(int code, int owner, int workspace, long address, long bytes, long extra) {
        writer.accept(code, now, Thread.currentThread().getId(), owner, workspace, address, bytes, extra);
    }
}
