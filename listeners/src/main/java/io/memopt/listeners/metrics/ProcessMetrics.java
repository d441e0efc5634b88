// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The process as the operating system sees it, its limits, and what the books do not explain. */
public final class ProcessMetrics extends PassBinder {
    private final MemoryLedger ledger;
    private final Supplier<ProcessMemory> process;
    private final Supplier<MemoryLimits> limits;

    /**
     * Meters of this process.
     *
     * @param process asked for each scrape, e.g. {@code ProcessMemory::now}
     * @param limits asked for each scrape, e.g. {@code MemoryLimits::current}
     */
    public ProcessMetrics(MemoryLedger ledger, Supplier<ProcessMemory> process, Supplier<MemoryLimits> limits) {
        this(ledger, process, limits, System::nanoTime);
    }

    ProcessMetrics(
            MemoryLedger ledger, Supplier<ProcessMemory> process, Supplier<MemoryLimits> limits, LongSupplier clock) {
        super(clock);
        this.ledger = ledger;
        this.process = process;
        this.limits = limits;
    }

    @Override
    Source open() {
        return this::collect;
    }

    private void collect(Rows rows) {
        long offHeap = ledger.reservedBytes(MemorySpace.HOST) + ledger.reservedBytes(MemorySpace.PINNED);
        ProcessMemory now = process.get();
        present(rows, Metric.PROCESS_RESIDENT, now.residentBytes());
        rows.put(Metric.JVM_COMMITTED, now.heapCommittedBytes(), "area", "heap");
        rows.put(Metric.JVM_COMMITTED, now.nonHeapCommittedBytes(), "area", "nonheap");
        present(rows, Metric.UNATTRIBUTED, now.unattributedBytes(offHeap));
        MemoryLimits inForce = limits.get();
        present(rows, Metric.LIMIT, inForce.physicalBytes(), "limit", "physical");
        present(rows, Metric.LIMIT, inForce.containerBytes(), "limit", "container");
        present(rows, Metric.LIMIT, inForce.heapBytes(), "limit", "heap");
        present(rows, Metric.LIMIT, inForce.javacppMaxBytes(), "limit", "javacpp_max_bytes");
        present(rows, Metric.LIMIT, inForce.javacppMaxPhysicalBytes(), "limit", "javacpp_max_physical_bytes");
    }

    private static void present(Rows rows, Metric metric, OptionalLong value, String... tags) {
        value.ifPresent(bytes -> rows.put(metric, bytes, tags));
    }
}
