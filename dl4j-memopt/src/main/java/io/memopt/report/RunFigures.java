// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.strategy.budget.BudgetReport;
import java.util.List;
import java.util.Map;

/** What a summary needs besides the ledger, which may have begun long before the run. */
public interface RunFigures {

    /** Versions, backend, hardware and models, as name and value. */
    Map<String, String> environment();

    /** When the run began, as {@link System#nanoTime()}. */
    long startNanos();

    /** What the ledger had counted when the run began. */
    List<OwnerUsage> usageBefore();

    /** What the run itself has to tell beyond the figures, as sentences. */
    List<String> notes();

    /** Budgets of networks that have been decided. */
    default List<BudgetReport> budgets() {
        return List.of();
    }

    /** Training iterations seen, of all networks; extra passes are none. */
    long iterations();

    /** Median duration of recent iterations in milliseconds, NaN before the first. */
    double stepMillisMedian();

    /**
     * How the training of one network goes.
     *
     * @param iterations seen
     * @param stepMillisMedian of recent ones, NaN before the first
     */
    record NetworkSteps(String network, long iterations, double stepMillisMedian) {}

    /** Networks that are attached, or were and have trained, in that order. */
    default List<NetworkSteps> networks() {
        return List.of();
    }

    /** Forward and backward passes that were no iterations, by kind; kinds without any are left out. */
    default Map<ExtraPass, Long> extraPasses() {
        return Map.of();
    }

    /** How often threads went through {@code phase}; extra passes of the networks themselves are among them. */
    long passes(Phase phase);

    /** How often they had at {@code nanos}, a {@link System#nanoTime()}; rounded down, by less than one part in 256 of all. */
    default long passesBefore(Phase phase, long nanos) {
        return 0;
    }

    /** Bytes of detached arrays that were freed because they were dead, before the Java garbage collector would have. */
    default long releasedBytes() {
        return 0;
    }

    /** Estimated share of wall time that recording took since the run began; {@code events} is the ledger's count. */
    double overheadShare(long events);
}
