// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

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

    /** Training iterations seen. */
    long iterations();

    /** Median duration of recent iterations in milliseconds, NaN before the first. */
    double stepMillisMedian();

    /** How often threads went through {@code phase}. */
    long passes(Phase phase);

    /** Bytes of detached arrays that were freed because they were dead, before the Java garbage collector would have. */
    default long releasedBytes() {
        return 0;
    }

    /** Estimated share of wall time that recording took since the run began; {@code events} is the ledger's count. */
    double overheadShare(long events);
}
