// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.report.RunFigures;
import io.memopt.strategy.budget.BudgetReport;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Iterations and passes of a run, in bounded memory: of each of {@value #MAX_NETWORKS} networks the durations of the latest.
 * Threading: any thread.
 */
final class RunTimes implements TrainingObserver, RunFigures {
    /** Networks with figures of their own; iterations of others count for all together only. */
    static final int MAX_NETWORKS = 64;

    private final Map<String, String> environment = new TreeMap<>();
    private final PassClock[] passes = new PassClock[Phase.values().length];
    private final RecentSteps steps = new RecentSteps();
    private final Map<String, RecentSteps> byNetwork = new LinkedHashMap<>();
    private final Map<ExtraPass, Long> extraPasses = new EnumMap<>(ExtraPass.class);
    private final long startNanos = System.nanoTime();
    private final DoubleSupplier nanosPerEvent;
    private final LongSupplier releasedBytes;
    private final List<OwnerUsage> usageBefore;
    private final long eventsBefore;
    private List<String> notes = List.of();
    private List<BudgetReport> budgets = List.of();

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
        Arrays.setAll(passes, phase -> new PassClock());
    }

    synchronized void describe(String name, String value) {
        environment.put(name, value);
    }

    @Override
    public synchronized void networkAttached(String network) {
        if (byNetwork.size() < MAX_NETWORKS) {
            byNetwork.computeIfAbsent(network, name -> new RecentSteps());
        }
    }

    /** What has trained is told to the end; a name that is given to another network goes on. */
    @Override
    public synchronized void networkRemoved(String network) {
        RecentSteps its = byNetwork.get(network);
        if (its != null && its.iterations() == 0) {
            byNetwork.remove(network);
        }
    }

    @Override
    public synchronized void iterationEnded(String network, long iteration, long epoch, long nanos) {
        steps.add(nanos);
        networkAttached(network);
        RecentSteps its = byNetwork.get(network);
        if (its != null) {
            its.add(nanos);
        }
    }

    @Override
    public synchronized void extraPass(String network, ExtraPass kind) {
        extraPasses.merge(kind, 1L, Long::sum);
    }

    @Override
    public void phaseEnded(String network, Phase phase, long nanos) {
        passes[phase.ordinal()].passEnded(System.nanoTime());
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
        return steps.iterations();
    }

    @Override
    public synchronized double stepMillisMedian() {
        return steps.median();
    }

    @Override
    public synchronized List<NetworkSteps> networks() {
        return byNetwork.entrySet().stream()
                .map(its -> new NetworkSteps(
                        its.getKey(),
                        its.getValue().iterations(),
                        its.getValue().median()))
                .toList();
    }

    @Override
    public synchronized Map<ExtraPass, Long> extraPasses() {
        return Map.copyOf(extraPasses);
    }

    @Override
    public long passes(Phase phase) {
        return passes[phase.ordinal()].passes();
    }

    @Override
    public long passesBefore(Phase phase, long nanos) {
        return passes[phase.ordinal()].passesBefore(nanos);
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
