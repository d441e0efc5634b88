// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.LongSupplier;

/** A binder whose gauges and counters come from passes over figures. Subclasses say how a pass goes. */
abstract class PassBinder implements MemoryMeterBinder {
    private final Bindings<Binding> bindings = new Bindings<>();
    private final LongSupplier clock;

    PassBinder(LongSupplier clock) {
        this.clock = clock;
    }

    /** Prepares what a registry needs for itself. */
    abstract Source open();

    /** Figures as seen by one registry. */
    @FunctionalInterface
    interface Source extends AutoCloseable {
        void collect(Rows rows);

        /** The registry is left. */
        @Override
        default void close() {}
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        bindings.add(registry, this::bind).ifPresent(Binding::start);
    }

    @Override
    public void beforeScrape(MeterRegistry registry) {
        bindings.get(registry).ifPresent(Binding::refresh);
    }

    @Override
    public void unbind(MeterRegistry registry) {
        bindings.remove(registry).ifPresent(Binding::close);
    }

    @Override
    public void close() {
        bindings.removeAll().forEach(Binding::close);
    }

    private Binding bind(MeterRegistry registry) {
        Source source = open();
        return new Binding(registry, source::collect, source::close, clock);
    }
}
