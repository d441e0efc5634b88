// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OrderSearchTest {
    private static final Deadline NEVER = new Deadline(() -> 0, Long.MAX_VALUE);

    /** What one order leaves above the bound, at least a third of it is gone in each case; most of it in most. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 4})
    void plan_ofUniformLives_isValidAndCloserToTheBound(long seed) {
        PlanProblem problem = RandomProblem.uniform(1000, seed);
        Timeline time = new Timeline(problem);
        int[] order = Orders.byLoad(time);
        long bound = LowerBound.of(time);
        long before = PlanValidator.validate(problem, BottomUp.plan(time, order));

        long[] plan = OrderSearch.plan(time, order, before, bound, NEVER);

        assertThat(before).isGreaterThan(bound);
        assertThat(plan).isNotNull();
        assertThat(PlanValidator.validate(problem, plan) - bound).isLessThan((before - bound) * 2 / 3);
    }

    @Test
    void plan_neverReturnsAHigherOne() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        long bound = LowerBound.of(time);
        assertThat(OrderSearch.plan(time, Orders.byLoad(time), bound - 1, 0, NEVER))
                .isNull();
    }

    @Test
    void plan_whenTimeIsOver_isNone() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        assertThat(OrderSearch.plan(time, Orders.byLoad(time), Long.MAX_VALUE, 0, new Deadline(() -> 0, 0)))
                .isNull();
    }
}
