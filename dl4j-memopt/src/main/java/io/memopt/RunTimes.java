// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.report.RunFigures;
import io.memopt.strategy.budget.BudgetReport;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/** Durations of a run, bounded: the last {@value #KEPT} iterations. Threading: any thread. */
final class RunTimes implements TrainingObserver, RunFigures {
    static final int KEPT = 4096;

    private static final double NANOS_PER_MILLI = 1e6;

    private final Map<String, String> environment = new TreeMap<>();
    private final AtomicLongArray passes = new AtomicLongArray(Phase.values().length);
    private final long[] recent = new long[KEPT];
    private final long startNanos = System.nanoTime();
    private final DoubleSupplier nanosPerEvent;
    private final LongSupplier releasedBytes;
    private final List<OwnerUsage> usageBefore;
    private final long eventsBefore;
    private List<String> notes = List.of();
    private List<BudgetReport> budgets = List.of();
    private long iterations;
    private long timed;

    /**
     * Begins now.
     *
     * @param nanosPerEvent what recording one event costs on this machine
     * @param releasedBytes see {@link #releasedBytes()}
     */
    RunTimes(MemoryLedger ledger, DoubleSupplier nanosPerEvent, LongSupplier releasedBytes) {
        this.nanosPerEvent = nanosPerEvent;
        this.releasedBytes = releasedBytes;
        this.usageBefore = ledger.usage();
        this.eventsBefore = ledger.events();
    }

    synchronized void describe(String name, String value) {
        environment.put(name, value);
    }

    @Override
    public synchronized void iterationEnded(String network, long iteration, long epoch, long nanos) {
        iterations++;
        if (nanos > 0) {
            recent[(int) (timed++ % KEPT)] = nanos;
        }
    }

    @Override
    public void phaseEnded(String network, Phase phase, long nanos) {
        passes.incrementAndGet(phase.ordinal());
    }

    @Override
    public synchronized Map<String, String> environment() {
        return new TreeMap<>(environment);
    }

    synchronized void notes(List<String> sentences) {
        notes = List.copyOf(sentences);
    }

    @Override
    public synchronized List<String> notes() {
        return notes;
    }

    synchronized void budgets(List<BudgetReport> reports) {
        budgets = List.copyOf(reports);
    }

    @Override
    public synchronized List<BudgetReport> budgets() {
        return budgets;
    }

    @Override
    public long startNanos() {
        return startNanos;
    }

    @Override
    public List<OwnerUsage> usageBefore() {
        return usageBefore;
    }

    @Override
    public synchronized long iterations() {
        return iterations;
    }

    @Override
    public synchronized double stepMillisMedian() {
        int known = (int) Math.min(timed, KEPT);
        if (known == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(recent, known);
        Arrays.sort(sorted);
        return sorted[known / 2] / NANOS_PER_MILLI;
    }

    @Override
    public long passes(Phase phase) {
        return passes.get(phase.ordinal());
    }

    @Override
    public long releasedBytes() {
        return releasedBytes.getAsLong();
    }

    @Override
    public double overheadShare(long events) {
        long elapsed = Math.max(1, System.nanoTime() - startNanos);
        return (events - eventsBefore) * nanosPerEvent.getAsDouble() / elapsed;
    }
}
