// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.recording.MemoryLedger;
import java.util.function.LongSupplier;

/** What recording itself does and costs. Every half minute a scrape measures the cost of an event, in about 15 ms. */
public final class RecorderMetrics extends PassBinder {
    private static final double NANO = 1e-9;

    private final MemoryLedger ledger;
    private final RecorderFigures figures;
    private double overheadSeconds;
    private long countedEvents;

    public RecorderMetrics(MemoryLedger ledger, RecorderFigures figures) {
        this(ledger, figures, System::nanoTime);
    }

    RecorderMetrics(MemoryLedger ledger, RecorderFigures figures, LongSupplier clock) {
        super(clock);
        this.ledger = ledger;
        this.figures = figures;
    }

    @Override
    Source open() {
        return this::collect;
    }

    /** Never falls, although the cost of an event is found to be lower as code gets compiled. */
    private synchronized double overheadSeconds(long events) {
        overheadSeconds += Math.max(0, events - countedEvents) * RecorderCost.nanosPerEvent() * NANO;
        countedEvents = Math.max(countedEvents, events);
        return overheadSeconds;
    }

    private void collect(Rows rows) {
        long events = ledger.events();
        rows.put(Metric.RECORDER_EVENTS, events);
        rows.put(Metric.RECORDER_LOST_EVENTS, figures.lostEvents());
        rows.put(Metric.RECORDER_OVERHEAD, overheadSeconds(events));
        rows.put(Metric.RECORDER_MEMORY, ledger.memoryBytes() + figures.memoryBytes());
        rows.put(Metric.GARBAGE_RELEASED, figures.releasedBytes());
        rows.put(Metric.PLAN_SERVED, figures.plannedPasses());
        rows.put(Metric.PLAN_MISSED, figures.missedPasses());
        rows.put(Metric.ARENA_SIZED, figures.sizedPasses());
        rows.put(Metric.ARENA_RESIZES, figures.arenaResizes());
        rows.put(Metric.ARENA_TRIMMED, figures.trimmedBytes());
        rows.put(Metric.ARENA_IDLE, figures.idleBytes());
        rows.put(Metric.POOL_RESERVED, figures.poolReservedBytes());
        rows.put(Metric.POOL_LIVE, figures.poolLiveBytes());
        rows.put(Metric.POOL_DRIVER_CALLS, figures.poolDriverCalls());
        figures.deviceMemory().forEach((part, bytes) -> rows.put(Metric.DEVICE_MEMORY, bytes, "part", part));
        rows.put(Metric.HOST_MIRRORS, figures.mirrorBytes());
        rows.put(Metric.OFFLOAD_LATE, figures.offloadLate());
        rows.put(Metric.OFFLOAD_WAITED, figures.offloadWaitedSeconds());
        rows.put(Metric.HEADROOM, figures.headroomBytes() < 0 ? Double.NaN : figures.headroomBytes());
        double left = figures.iterationsLeft();
        rows.put(Metric.HEADROOM_ITERATIONS, Double.isInfinite(left) ? Double.NaN : left);
        rows.put(Metric.OOM_RECOVERIES, figures.recoveries());
        figures.extraPasses().forEach((kind, passes) -> rows.put(Metric.EXTRA_PASSES, passes, "kind", kind));
        rows.put(Metric.LEAKED_PREFETCHERS, figures.leakedPrefetchers());
        prefetch(rows, figures.prefetch());
    }

    private static void prefetch(Rows rows, PrefetchFigures prefetch) {
        rows.put(Metric.PREFETCH_BATCHES, prefetch.batches());
        rows.put(Metric.PREFETCH_PREPARATION, prefetch.preparationNanos() * NANO);
        rows.put(Metric.PREFETCH_WAIT, prefetch.waitNanos() * NANO);
        rows.put(Metric.PREFETCH_WAITS, prefetch.waits());
        rows.put(Metric.PREFETCH_AHEAD, prefetch.aheadBytes());
    }
}
