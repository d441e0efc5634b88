// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The meters of one binder in one registry, and the state behind them. A pass asks the source for rows, registers meters
 * for new ones and removes those whose row is gone. When passes happen: see {@link MemoryMeterBinder}.
 *
 * <p>Threading: passes take turns under a lock. A registry that reads a meter never waits for it: it gets the values of
 * the pass before.
 */
final class Binding implements AutoCloseable {
    private static final long MIN_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(MemoryMeterBinder.MIN_AGE_MILLIS);
    /** No scrape takes longer; a meter that is read first after this time must not show what was. */
    private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final MeterRegistry registry;
    private final Consumer<Rows> source;
    private final Runnable onClose;
    private final LongSupplier clock;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Rows.Key, Row> rows = new HashMap<>();
    private volatile long passNanos;
    private volatile boolean closed;

    /**
     * Meters that are not registered before the first {@link #refresh()}.
     *
     * @param clock nanoseconds, as {@link System#nanoTime()}
     */
    Binding(MeterRegistry registry, Consumer<Rows> source, Runnable onClose, LongSupplier clock) {
        this.registry = registry;
        this.source = source;
        this.onClose = onClose;
        this.clock = clock;
    }

    private record Row(Cell cell, Meter meter) {}

    /** Registers the first meters; their values count as old, so that the first read makes a pass. */
    void start() {
        refresh();
        passNanos = clock.getAsLong() - MAX_AGE_NANOS - 1;
    }

    /** Makes a pass now. */
    void refresh() {
        lock.lock();
        try {
            pass();
        } finally {
            lock.unlock();
        }
    }

    /** The registry is about to read {@code cell}: a pass first, if that begins a scrape. */
    void beforeRead(Cell cell) {
        if (isDue(cell) && !lock.isHeldByCurrentThread() && lock.tryLock()) {
            try {
                if (isDue(cell)) {
                    pass();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                rows.values().forEach(row -> registry.remove(row.meter()));
                rows.clear();
                onClose.run();
            }
        } finally {
            lock.unlock();
        }
    }

    private boolean isDue(Cell cell) {
        long age = clock.getAsLong() - passNanos;
        return !closed && (age > MAX_AGE_NANOS || (age >= MIN_AGE_NANOS && cell.wasRead()));
    }

    private void pass() {
        if (closed) {
            return;
        }
        passNanos = clock.getAsLong();
        Rows found = new Rows();
        source.accept(found);
        Map<Rows.Key, Double> values = found.values();
        for (Iterator<Map.Entry<Rows.Key, Row>> it = rows.entrySet().iterator(); it.hasNext(); ) {
            Map.Entry<Rows.Key, Row> entry = it.next();
            if (!values.containsKey(entry.getKey())) {
                registry.remove(entry.getValue().meter());
                it.remove();
            }
        }
        values.forEach((key, value) -> {
            Row row = rows.get(key);
            if (row == null) {
                Cell cell = new Cell(this, key.metric().type() == Metric.Type.PEAK);
                cell.offer(value);
                rows.put(key, new Row(cell, register(key.metric(), key.tags(), cell)));
            } else {
                row.cell().offer(value);
            }
        });
    }

    /** Gauges hold their cell, and a cell its binding with all cells: so counters, held weakly, live as long. */
    private Meter register(Metric metric, Tags tags, Cell cell) {
        String unit = metric.baseUnit().orElse(null);
        if (metric.type() == Metric.Type.FLOW) {
            return FunctionCounter.builder(metric.meterName(), cell, Cell::read)
                    .description(metric.description())
                    .baseUnit(unit)
                    .tags(tags)
                    .register(registry);
        }
        return Gauge.builder(metric.meterName(), cell, Cell::read)
                .description(metric.description())
                .baseUnit(unit)
                .tags(tags)
                .strongReference(true)
                .register(registry);
    }
}
