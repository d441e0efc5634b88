// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.recording.GarbageCollectionWatch;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;

/** Times of forced garbage collections, from the moment of binding. Does not close the watch that it listens to. */
public final class GcMetrics implements MemoryMeterBinder {
    private final GarbageCollectionWatch watch;
    private final Bindings<BoundTimer> bindings = new Bindings<>();

    public GcMetrics(GarbageCollectionWatch watch) {
        this.watch = watch;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        bindings.add(registry, BoundTimer::new);
    }

    /** Nothing to do: the timer is told of each collection. */
    @Override
    public void beforeScrape(MeterRegistry registry) {}

    @Override
    public void unbind(MeterRegistry registry) {
        bindings.remove(registry).ifPresent(BoundTimer::close);
    }

    @Override
    public void close() {
        bindings.removeAll().forEach(BoundTimer::close);
    }

    private final class BoundTimer implements AutoCloseable {
        private final MeterRegistry registry;
        private final Timer timer;
        private final GarbageCollectionWatch.Listener listener = this::collected;

        BoundTimer(MeterRegistry registry) {
            this.registry = registry;
            timer = Timer.builder(Metric.GC_FORCED.meterName())
                    .description(Metric.GC_FORCED.description())
                    .register(registry);
            watch.addListener(listener);
        }

        private void collected(boolean forced, long nanos) {
            if (forced) {
                timer.record(nanos, TimeUnit.NANOSECONDS);
            }
        }

        @Override
        public void close() {
            watch.removeListener(listener);
            registry.remove(timer);
        }
    }
}
