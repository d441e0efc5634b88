// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Problems like MiniMalloc's challenges, which are solved as those are. */
class KinTest {
    /** Never reached on a machine that works: each takes a tenth of a second. */
    private static final PlanOptions AMPLE = PlanOptions.within(Duration.ofMinutes(2));

    @ParameterizedTest
    @ValueSource(strings = {"A", "C", "E", "I", "K"})
    void plan_ofKinOfAChallenge_meetsTheCapacityThatIsKnown(String name) {
        PlanProblem base = Instances.miniMalloc(name);
        long[] offsets =
                MemoryPlanner.plan(base, AMPLE.withCapacity(Instances.CAPACITY)).offsets();
        for (Kin.Change change : new Kin.Change[] {Kin.Change.FEWER, Kin.Change.CUT}) {
            for (long seed = 0; seed < 3; seed++) {
                Kin.Known kin = Kin.of(base, offsets, Instances.CAPACITY, change, seed);

                MemoryPlan plan = MemoryPlanner.plan(kin.problem(), AMPLE.withCapacity(kin.height()));

                assertThat(PlanValidator.validate(kin.problem(), plan.offsets()))
                        .as("%s %s %d", name, change, seed)
                        .isLessThanOrEqualTo(kin.height());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kin.Change.class)
    void kin_ofAPlan_haveOneThemselves(Kin.Change change) {
        PlanProblem base = RandomProblem.cut(200, 1 << 20, 1);
        MemoryPlan plan = MemoryPlanner.plan(base, PlanOptions.greedy());
        for (long seed = 0; seed < 20; seed++) {
            Kin.Known kin = Kin.of(base, plan.offsets(), plan.height(), change, seed);

            assertThat(PlanValidator.validate(kin.problem(), kin.offsets())).isEqualTo(kin.height());
            assertThat(kin.problem().count()).isGreaterThan(140);
            assertThat(kin.height()).isBetween(plan.height() / 2, plan.height() * 4 / 3);
        }
    }
}
