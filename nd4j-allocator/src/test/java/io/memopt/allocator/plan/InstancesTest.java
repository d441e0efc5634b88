// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each takes a fraction of a second; the timeout is for machines under heavy load. */
class InstancesTest {
    private static final Duration AMPLE = Duration.ofMinutes(2);

    @ParameterizedTest
    @ValueSource(strings = {"A", "C", "E", "G", "I", "K"})
    void miniMalloc_challenge_fitsItsCapacity(String name) {
        PlanProblem problem = Instances.miniMalloc(name);

        MemoryPlan plan = MemoryPlanner.plan(problem, PlanOptions.within(AMPLE).withCapacity(Instances.CAPACITY));

        assertThat(PlanValidator.validate(problem, plan.offsets())).isLessThanOrEqualTo(Instances.CAPACITY);
        assertThat(plan.certificate().method()).isEqualTo(PlanMethod.EXACT_SEARCH);
    }

    @Test
    void miniMalloc_c_isProvedOptimalBelowItsCapacity() {
        PlanProblem problem = Instances.miniMalloc("C");

        MemoryPlan plan = MemoryPlanner.plan(problem, PlanOptions.within(AMPLE));

        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(1_039_360);
        assertThat(plan.certificate().optimal()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lenet", "vgg", "residual_graph"})
    void recorded_training_isWithinThreePerMilleByGreedyMethods(String name) {
        PlanProblem problem = Instances.recorded(name);

        MemoryPlan plan = MemoryPlanner.plan(problem, new PlanOptions(OptionalLong.empty(), AMPLE, false));

        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(plan.height());
        assertThat((double) plan.height())
                .isLessThanOrEqualTo(1.003 * plan.certificate().lowerBound());
    }
}
