// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.reuse.ArenaPlan;

/**
 * One plan and what it is worth.
 *
 * @param shapes of inputs, labels and masks of the pass
 * @param state {@code UNKNOWN}, {@code PLANNED}, {@code TRUSTED} or {@code REFUSED}
 * @param reason why it is refused; empty otherwise
 * @param arrays that a pass places in workspaces
 * @param arenaBytes that the plan takes; 0 without a plan
 * @param lowerBoundBytes that any plan for these lifetimes takes
 * @param scopeBytes most bytes in open scopes at once, which ND4J's workspaces must hold at least
 * @param served passes served from the arena
 * @param missed passes that asked for other arrays
 */
public record PlanRow(
        String shapes,
        String state,
        String reason,
        int arrays,
        long arenaBytes,
        long lowerBoundBytes,
        long scopeBytes,
        long served,
        long missed) {

    static PlanRow of(PlannedRegion region) {
        ArenaPlan plan = region.plan();
        return new PlanRow(
                region.key().shapes(),
                region.stage().name(),
                region.reason(),
                plan == null ? 0 : plan.size(),
                plan == null ? 0 : plan.height(),
                plan == null ? 0 : plan.certificate().lowerBound(),
                plan == null ? 0 : plan.scopeBytes(),
                region.served(),
                region.missed());
    }
}
