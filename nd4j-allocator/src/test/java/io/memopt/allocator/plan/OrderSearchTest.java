// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OrderSearchTest {
    private static final Deadline NEVER = new Deadline(() -> 0, Long.MAX_VALUE);

    /** At least a third of what the order by load leaves above the bound is gone, unless that is within one per mille of it. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 4})
    void plan_ofUniformLives_isValidAndCloserToTheBound(long seed) {
        PlanProblem problem = RandomProblem.uniform(1000, seed);
        Timeline time = new Timeline(problem);
        long bound = LowerBound.of(time);
        long before = PlanValidator.validate(problem, BottomUp.plan(time, Orders.byLoad(time)));

        long[] plan = OrderSearch.plan(time, before, bound, NEVER);

        assertThat(before).isGreaterThan(bound);
        assertThat(plan).isNotNull();
        long allowed = Math.max((before - bound) * 2 / 3, bound / 1000);
        assertThat(PlanValidator.validate(problem, plan) - bound).isLessThan(allowed);
    }

    /** Twelve tries, what 50 ms are enough for: the clock is told by how often it is asked, so that no machine is too slow. */
    @Test
    void plan_ofTwoThousandUniformLives_isWithinThreePerMilleInMostCases() {
        int within = 0;
        for (long seed = 0; seed < 10; seed++) {
            PlanProblem problem = RandomProblem.uniform(2000, seed);
            Timeline time = new Timeline(problem);
            long bound = LowerBound.of(time);
            long[] ticks = {0};

            long[] plan = OrderSearch.plan(time, Long.MAX_VALUE, bound, new Deadline(() -> ticks[0]++, 13));

            assertThat(plan).isNotNull();
            long height = PlanValidator.validate(problem, plan);
            assertThat((double) height).as("seed %d", seed).isLessThanOrEqualTo(1.015 * bound);
            within += height <= 1.003 * bound ? 1 : 0;
        }
        assertThat(within).isGreaterThanOrEqualTo(6);
    }

    @Test
    void plan_withTheSameProblem_isTheSame() {
        Timeline time = new Timeline(RandomProblem.uniform(600, 3));
        long bound = LowerBound.of(time);

        assertThat(OrderSearch.plan(time, Long.MAX_VALUE, bound, NEVER))
                .isEqualTo(OrderSearch.plan(time, Long.MAX_VALUE, bound, NEVER));
    }

    @Test
    void plan_whenNoneIsLower_isNone() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        assertThat(OrderSearch.plan(time, LowerBound.of(time), 0, NEVER)).isNull();
    }

    @Test
    void plan_whenTimeIsOver_isNone() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        assertThat(OrderSearch.plan(time, Long.MAX_VALUE, 0, new Deadline(() -> 0, 0)))
                .isNull();
    }
}
