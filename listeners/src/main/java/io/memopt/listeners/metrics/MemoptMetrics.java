// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.recording.GarbageCollectionWatch;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.function.Supplier;

/**
 * All meters of this project as one binder:
 *
 * <pre>{@code
 * MemoptMetrics metrics = MemoptMetrics.of(ledger, watch, timers).build();
 * MetricsServer server = MetricsServer.start(metrics, 9464);    // or: metrics.bindTo(registry)
 * }</pre>
 *
 * <p>Closing removes the meters; it closes neither the ledger's {@link GarbageCollectionWatch} nor forgets figures of the
 * {@link TrainingTimers}.
 */
public final class MemoptMetrics implements MemoryMeterBinder {
    private final List<MemoryMeterBinder> parts;

    private MemoptMetrics(List<MemoryMeterBinder> parts) {
        this.parts = parts;
    }

    /** Starts to gather; what is not given is left at its default. */
    public static Builder of(MemoryLedger ledger, GarbageCollectionWatch watch, TrainingTimers training) {
        return new Builder(ledger, watch, training);
    }

    /** Gathers the sources of figures. Not thread-safe. */
    public static final class Builder {
        private final MemoryLedger ledger;
        private final GarbageCollectionWatch watch;
        private final TrainingTimers training;
        private RecorderFigures recorder = RecorderFigures.NONE;
        private Supplier<MemoryLimits> limits = MemoryLimits::current;

        private Builder(MemoryLedger ledger, GarbageCollectionWatch watch, TrainingTimers training) {
            this.ledger = ledger;
            this.watch = watch;
            this.training = training;
        }

        public Builder recorder(RecorderFigures figures) {
            recorder = figures;
            return this;
        }

        /** Where limits come from; needed when JavaCPP's were changed at run time. Asked for each scrape. */
        public Builder limits(Supplier<MemoryLimits> source) {
            limits = source;
            return this;
        }

        public MemoptMetrics build() {
            return new MemoptMetrics(List.of(
                    training,
                    new LedgerMetrics(ledger, training),
                    new GcMetrics(watch),
                    new ProcessMetrics(ledger, ProcessMemory::now, limits),
                    new RecorderMetrics(ledger, recorder)));
        }
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        parts.forEach(part -> part.bindTo(registry));
    }

    @Override
    public void beforeScrape(MeterRegistry registry) {
        parts.forEach(part -> part.beforeScrape(registry));
    }

    @Override
    public void unbind(MeterRegistry registry) {
        parts.forEach(part -> part.unbind(registry));
    }

    @Override
    public void close() {
        parts.forEach(MemoryMeterBinder::close);
    }
}
