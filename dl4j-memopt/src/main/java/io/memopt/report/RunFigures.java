// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Phase;
import java.util.Map;

/** What a summary needs besides the ledger. */
public interface RunFigures {

    /** Versions, backend, hardware and models, as name and value. */
    Map<String, String> environment();

    /** Training iterations seen. */
    long iterations();

    /** Median duration of recent iterations in milliseconds, NaN before the first. */
    double stepMillisMedian();

    /** How often threads went through {@code phase}. */
    long passes(Phase phase);

    /** Estimated share of wall time that recording {@code events} took. */
    double overheadShare(long events);
}
