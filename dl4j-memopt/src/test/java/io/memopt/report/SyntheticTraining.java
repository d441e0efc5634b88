// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

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
import java.util.ArrayDeque;
import java.util.Random;

/**
 * Writes traces of any length that look like the training of a convolutional network: parameters, workspaces that grow
 * once, spills in the first iterations, inputs from a prefetcher, evaluation after each epoch, and results of
 * inference that nobody closes. Seeded; times are made up but realistic.
 */
public final class SyntheticTraining {
    private static final MemorySpace HOST = MemorySpace.HOST;
    private static final int LAYERS = 48;
    private static final int ITERATIONS_PER_EPOCH = 400;
    private static final long HEAP = 0x7f31_4000_0000L;
    private static final int ARRAYS_KEPT = 600;

    private record Array(long address, long bytes, int owner, long time) {}

    private final OwnerTable owners;
    private final WorkspaceTable workspaces;
    private final Random random = new Random(7);
    private final ArrayDeque<Array> kept = new ArrayDeque<>();
    private final TraceWriter writer;
    private final int thread = (int) Thread.currentThread().getId();
    private final String prefix;
    private long time;
    private long events;
    private long heapTop = HEAP;

    private SyntheticTraining(TraceWriter writer, String prefix, OwnerTable owners, WorkspaceTable workspaces) {
        this.writer = writer;
        this.prefix = prefix;
        this.owners = owners;
        this.workspaces = workspaces;
        this.time = writer.header().startNanos();
    }

    /** Writes at least {@code events} events to {@code file}. */
    public static void write(Path file, long events) throws IOException {
        write(file, events, "layer");
    }

    /** As above, with names of layers that begin with {@code prefix}. */
    static void write(Path file, long events, String prefix) throws IOException {
        TraceOptions options = TraceOptions.DEFAULTS
                .withQueueBlocks(256)
                .withProperty("dl4jVersion", "1.0.0-M2.1")
                .withProperty("backend", "synthetic");
        OwnerTable owners = new OwnerTable();
        WorkspaceTable workspaces = new WorkspaceTable();
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, options)) {
            new SyntheticTraining(writer, prefix, owners, workspaces).run(events);
            if (writer.lostEvents() > 0) {
                throw new IOException(writer.lostEvents() + " events were lost");
            }
        }
    }

    private void run(long wanted) {
        int activations = workspaces.add("WS_ALL_LAYERS_ACT", Thread.currentThread(), false);
        int working = workspaces.add("WS_LAYER_WORKING_MEM", Thread.currentThread(), false);
        int prefetch = workspaces.add("ADSI_ITER", Thread.currentThread(), true);
        long parameterBytes = 0;
        for (int layer = 0; layer < LAYERS; layer++) {
            parameterBytes += 9L * channels(layer) * channels(layer) * 4;
        }
        detached(owner("", Phase.NONE, Category.PARAMETERS, ""), parameterBytes);
        detached(owner("", Phase.NONE, Category.UPDATER_STATE, ""), 2 * parameterBytes);
        detached(owner("", Phase.NONE, Category.GRADIENTS, ""), parameterBytes);
        long input = 32L * 3 * 64 * 64 * 4;
        long ring = block(prefetch, "ADSI_ITER", 6 * input);
        long activationBlock = 0;
        long workingBlock = 0;
        for (int iteration = 0; events < wanted; iteration++) {
            boolean first = iteration == 0;
            if (iteration == 1) {
                activationBlock = block(activations, "WS_ALL_LAYERS_ACT", LAYERS * (5L << 20));
                workingBlock = block(working, "WS_LAYER_WORKING_MEM", 48L << 20);
            }
            copy(TransferDirection.HOST_TO_DEVICE, 0, input, 40_000 + random.nextInt(20_000));
            scope(prefetch, "ADSI_ITER", iteration);
            array(owner("", Phase.NONE, Category.INPUT, "ADSI_ITER"), prefetch, ring + iteration % 4 * input, input);
            iteration(iteration, first, activations, working, activationBlock, workingBlock);
            release(prefetch, "ADSI_ITER", input);
            step(
                    EventCode.of(EventKind.ITERATION),
                    owner("", Phase.UPDATE, Category.OTHER, ""),
                    0,
                    0,
                    iteration,
                    iteration / ITERATIONS_PER_EPOCH);
            if (iteration % ITERATIONS_PER_EPOCH == ITERATIONS_PER_EPOCH - 1) {
                evaluate();
            }
        }
    }

    private void iteration(int number, boolean first, int activations, int working, long act, long work) {
        scope(activations, "WS_ALL_LAYERS_ACT", number);
        long used = 0;
        Array[] spilled = new Array[2 * LAYERS];
        for (int i = 0; i < 2 * LAYERS; i++) {
            boolean forward = i < LAYERS;
            int layer = forward ? i : 2 * LAYERS - 1 - i;
            Phase phase = forward ? Phase.FORWARD : Phase.BACKWARD;
            context(owner(name(layer), phase, Category.OTHER, ""));
            long scratch = workingMemory(layer, phase, first, working, work);
            Category category = forward ? Category.ACTIVATIONS : Category.ACTIVATION_GRADIENTS;
            int owner = owner(name(layer), phase, category, "WS_ALL_LAYERS_ACT");
            long bytes = activationBytes(layer) / (forward ? 1 : 2);
            if (first) {
                spilled[i] = spill(owner, activations, bytes);
            } else {
                array(owner, activations, act + used, bytes);
                used += bytes;
            }
            if (scratch > 0) {
                release(working, "WS_LAYER_WORKING_MEM", scratch);
            }
        }
        for (Array array : spilled) {
            if (array != null) {
                free(array, AllocationKind.SPILL, activations);
            }
        }
        if (used > 0) {
            release(activations, "WS_ALL_LAYERS_ACT", used);
        }
        context(owner("", Phase.UPDATE, Category.OTHER, ""));
        time += 300_000;
        context(0);
    }

    private long workingMemory(int layer, Phase phase, boolean first, int working, long work) {
        scope(working, "WS_LAYER_WORKING_MEM", layer);
        int owner = owner(name(layer), phase, Category.WORKING_MEMORY, "WS_LAYER_WORKING_MEM");
        long used = 0;
        for (int i = 0; i < 3; i++) {
            long bytes = (activationBytes(layer) * (i + 1) / 2 + random.nextInt(4) * 64L) / 64 * 64;
            time += 20_000 + random.nextInt(40_000);
            if (first) {
                free(spill(owner, working, bytes), AllocationKind.SPILL, working);
            } else {
                array(owner, working, work + used, bytes);
                used += bytes;
            }
        }
        return used;
    }

    /** Results that only the garbage collector will free, and it is late. */
    private void evaluate() {
        copy(TransferDirection.DEVICE_TO_HOST, HEAP, 32L * 1000 * 4, 90_000);
        context(owner(name(LAYERS - 1), Phase.EVALUATION, Category.OTHER, ""));
        for (int i = 0; i < 50; i++) {
            int owner = owner(name(LAYERS - 1), Phase.EVALUATION, Category.ACTIVATIONS, "");
            time += 2_000_000 + random.nextInt(2_000_000);
            kept.add(detached(owner, 32L * 1000 * 4 + random.nextInt(64) * 16L));
        }
        while (kept.size() > ARRAYS_KEPT) {
            free(kept.remove(), AllocationKind.DETACHED, 0);
        }
        time += 400_000_000L;
        step(EventCode.of(EventKind.GARBAGE_COLLECTION), 0, 0, 0, 30_000_000L, 1);
        context(0);
    }

    private long block(int workspace, String name, long bytes) {
        long address = place(bytes);
        int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_BLOCK, HOST);
        step(code, owner("", Phase.NONE, Category.OTHER, name), workspace, address, bytes, bytes);
        return address;
    }

    private Array detached(int owner, long bytes) {
        long address = place(bytes);
        step(EventCode.of(EventKind.ALLOCATE, AllocationKind.DETACHED, HOST), owner, 0, address, bytes, bytes);
        return new Array(address, bytes, owner, time);
    }

    private Array spill(int owner, int workspace, long bytes) {
        long address = place(bytes);
        step(EventCode.of(EventKind.ALLOCATE, AllocationKind.SPILL, HOST), owner, workspace, address, bytes, bytes);
        return new Array(address, bytes, owner, time);
    }

    private void array(int owner, int workspace, long address, long bytes) {
        int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, HOST);
        step(code, owner, workspace, address, bytes, bytes);
    }

    private void free(Array array, AllocationKind kind, int workspace) {
        int code = EventCode.of(EventKind.FREE, kind, HOST);
        advance();
        emit(code, array.owner, workspace, array.address, array.bytes, time - array.time);
    }

    private void scope(int workspace, String name, long generation) {
        step(
                EventCode.of(EventKind.SCOPE_ENTER),
                owner("", Phase.NONE, Category.OTHER, name),
                workspace,
                0,
                0,
                generation);
    }

    private void copy(TransferDirection direction, long address, long bytes, long nanos) {
        step(EventCode.transfer(direction), 0, 0, address, bytes, nanos);
    }

    private void release(int workspace, String name, long bytes) {
        int owner = owner("", Phase.NONE, Category.OTHER, name);
        step(EventCode.of(EventKind.SCOPE_RELEASE), owner, workspace, 0, bytes, 0);
    }

    private void context(int owner) {
        step(EventCode.of(EventKind.CONTEXT), owner, 0, 0, 0, 0);
    }

    private void step(int code, int owner, int workspace, long address, long bytes, long extra) {
        advance();
        emit(code, owner, workspace, address, bytes, extra);
    }

    private void advance() {
        time += 500 + random.nextInt(4_000);
    }

    private void emit(int code, int owner, int workspace, long address, long bytes, long extra) {
        writer.accept(code, time, thread, owner, workspace, address, bytes, extra);
        if (++events % 100_000 == 0) {
            writer.flush(Duration.ofSeconds(30));
        }
    }

    /** A bump allocator with holes: freed memory is taken again only when all of it is free. */
    private long place(long bytes) {
        if (heapTop - HEAP > (3L << 30)) {
            heapTop = HEAP + (1L << 30);
        }
        long address = heapTop;
        heapTop += (bytes + 4095) / 4096 * 4096 + 4096;
        return address;
    }

    private int owner(String layer, Phase phase, Category category, String workspace) {
        return owners.idOf(new Owner("MultiLayerNetwork-1", layer, phase, category, workspace));
    }

    private String name(int layer) {
        return prefix + layer;
    }

    private static int channels(int layer) {
        return 64 << (layer / 16);
    }

    private static long activationBytes(int layer) {
        return 8L * channels(layer) * (64 >> (layer / 16)) * (64 >> (layer / 16)) * (1 + layer % 3);
    }
}
