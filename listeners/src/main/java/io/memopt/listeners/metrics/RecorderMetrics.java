// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.recording.MemoryLedger;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.LongSupplier;

/** What recording itself does and costs. The first binding measures the cost of an event, in about 15 ms. */
public final class RecorderMetrics extends PassBinder {
    private final MemoryLedger ledger;
    private final RecorderFigures figures;
    private double nanosPerEvent = -1;

    public RecorderMetrics(MemoryLedger ledger, RecorderFigures figures) {
        this(ledger, figures, System::nanoTime);
    }

    RecorderMetrics(MemoryLedger ledger, RecorderFigures figures, LongSupplier clock) {
        super(clock);
        this.ledger = ledger;
        this.figures = figures;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        calibrate();
        super.bindTo(registry);
    }

    /** Measured cost of an event, 0 before the first binding. */
    public synchronized double nanosPerEvent() {
        return Math.max(0, nanosPerEvent);
    }

    @Override
    Source open() {
        return this::collect;
    }

    private synchronized void calibrate() {
        if (nanosPerEvent < 0) {
            nanosPerEvent = RecorderCost.measureNanos();
        }
    }

    private void collect(Rows rows) {
        long events = ledger.events();
        rows.put(Metric.RECORDER_EVENTS, events);
        rows.put(Metric.RECORDER_LOST_EVENTS, figures.lostEvents());
        rows.put(Metric.RECORDER_OVERHEAD, events * nanosPerEvent() * 1e-9);
        rows.put(Metric.RECORDER_MEMORY, ledger.memoryBytes() + figures.memoryBytes());
        rows.put(Metric.LEAKED_PREFETCHERS, figures.leakedPrefetchers());
    }
}
