// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.time.Duration;

/**
 * How good a plan is, and how that is known.
 *
 * @param height bytes that the plan takes
 * @param lowerBound bytes below which no plan can be, proved; never above {@code height}
 * @param method what found the plan's highest part
 * @param nodes decisions of the exact search, also where it planned a core alone ({@link PlanMethod#CORE_SEARCH}); 0 if it did not run
 * @param time wall time of planning
 */
public record Certificate(long height, long lowerBound, PlanMethod method, long nodes, Duration time) {

    /** Whether it is proved that no plan is lower. */
    public boolean optimal() {
        return height == lowerBound;
    }

    /** Bytes between the plan and what may still be possible; 0 when optimal. */
    public long gap() {
        return height - lowerBound;
    }

    /** Whether it is proved that no plan fits into so many bytes. */
    public boolean provesImpossible(long capacity) {
        return lowerBound > capacity;
    }
}
