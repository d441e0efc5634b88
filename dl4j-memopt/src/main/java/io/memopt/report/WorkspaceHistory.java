// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Every workspace instance over time: the block, what of it arrays fill, and what spilled out of it. */
final class WorkspaceHistory {
    private static final int BINS = 1024;

    /** One instance. The rows of its columns hold the most of a bin, as {@link TimelineBins} do. */
    static final class Instance {
        private final Columns columns = new Columns();
        private int rows;
        private long bin = -1;
        private long rowStart;
        private long rowUsed;
        private long rowReserved;
        private long rowSpilled;
        private long lastTime;
        private long cycle;
        private boolean open;

        long used;
        long reserved;
        long spilledNow;
        long peakUsed;
        long peakReserved;
        long maxCycle;
        long spills;
        long spilledBytes;
        long blocks;
        long scopes;
        long lastEntered = -1;

        int rows() {
            return rows;
        }

        /** For each row its start and the most used, reserved and spilled. */
        String pack() {
            return columns.pack();
        }

        private void changed(long now, long time, long pause) {
            if (open && time - lastTime > pause) {
                close();
                start(lastTime);
                bin = -1;
            }
            if (now != bin || !open) {
                close();
                start(time);
                bin = now;
            }
            lastTime = time;
        }

        private void start(long time) {
            open = true;
            rowStart = time;
            rowUsed = used;
            rowReserved = reserved;
            rowSpilled = spilledNow;
        }

        private void update() {
            rowUsed = Math.max(rowUsed, used);
            rowReserved = Math.max(rowReserved, reserved);
            rowSpilled = Math.max(rowSpilled, spilledNow);
            peakUsed = Math.max(peakUsed, used);
            peakReserved = Math.max(peakReserved, reserved);
        }

        private void close() {
            if (open) {
                columns.add(rowStart).add(rowUsed).add(rowReserved).add(rowSpilled);
                rows++;
                open = false;
            }
        }

        private void complete() {
            close();
            start(lastTime + 1);
            close();
        }
    }

    private final long events;
    private final long pauseNanos;
    private final Map<Integer, Instance> instances = new TreeMap<>();
    private long event;
    private long time;

    WorkspaceHistory(long events, long rangeNanos) {
        this.events = Math.max(1, events);
        this.pauseNanos = rangeNanos / BINS;
    }

    /** What follows happens at this event. */
    void at(long eventNumber, long eventTime) {
        event = eventNumber;
        time = eventTime;
    }

    void entered(int id, long enteredTime) {
        Instance instance = instances.computeIfAbsent(id, number -> new Instance());
        instance.scopes++;
        instance.lastEntered = enteredTime;
        instance.cycle = 0;
    }

    void born(Lifetime lifetime) {
        change(lifetime, lifetime.bytes);
        Instance instance = instances.get(lifetime.workspace);
        if (instance == null) {
            return;
        }
        if (isSpill(lifetime.kind) && lifetime.allocated == lifetime.birth) {
            instance.spills++;
            instance.spilledBytes += lifetime.bytes;
        }
        if (lifetime.isBlock()) {
            instance.blocks += lifetime.space == MemorySpace.PINNED ? 0 : 1;
        } else if (lifetime.allocated == lifetime.birth) {
            instance.cycle += lifetime.bytes;
            instance.maxCycle = Math.max(instance.maxCycle, instance.cycle);
        }
    }

    void died(Lifetime lifetime) {
        change(lifetime, -lifetime.bytes);
    }

    /** Ends the pass. */
    void complete() {
        instances.values().forEach(Instance::complete);
    }

    /** All instances by number. */
    Map<Integer, Instance> instances() {
        return Collections.unmodifiableMap(instances);
    }

    private void change(Lifetime lifetime, long bytes) {
        if (lifetime.workspace == 0) {
            return;
        }
        Instance instance = instances.computeIfAbsent(lifetime.workspace, id -> new Instance());
        instance.changed(event * BINS / events, time, pauseNanos);
        if (lifetime.isBlock()) {
            instance.reserved += bytes;
        } else if (isSpill(lifetime.kind)) {
            instance.spilledNow += bytes;
        } else if (lifetime.kind == AllocationKind.WORKSPACE_ARRAY) {
            instance.used += bytes;
        }
        instance.update();
    }

    private static boolean isSpill(AllocationKind kind) {
        return kind == AllocationKind.SPILL || kind == AllocationKind.PINNED_SPILL;
    }
}
