// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.reuse.ArenaPlan;

/**
 * One plan and what it is worth.
 *
 * @param pass which pass of the network, with its batch and the other dimensions of inputs, labels and masks
 * @param state {@code UNKNOWN}, {@code PLANNED}, {@code TRUSTED} or {@code REFUSED}
 * @param reason why it is refused; empty otherwise
 * @param derived true when it follows from the plans of two other batches
 * @param arrays that a pass places in workspaces
 * @param arenaBytes that the plan takes; 0 without a plan
 * @param lowerBoundBytes that any plan for these lifetimes takes
 * @param scopeBytes most bytes in open scopes at once, which ND4J's workspaces must hold at least
 * @param served passes served from the arena
 * @param missed passes that asked for other arrays
 */
public record PlanRow(
        String pass,
        String state,
        String reason,
        boolean derived,
        int arrays,
        long arenaBytes,
        long lowerBoundBytes,
        long scopeBytes,
        long served,
        long missed) {

    static PlanRow of(PlannedRegion region) {
        ArenaPlan plan = region.plan();
        return new PlanRow(
                region.key().toString(),
                region.stage().name(),
                region.reason(),
                region.isDerived(),
                plan == null ? 0 : plan.size(),
                plan == null ? 0 : plan.height(),
                plan == null ? 0 : plan.certificate().lowerBound(),
                plan == null ? 0 : plan.scopeBytes(),
                region.served(),
                region.missed());
    }
}
