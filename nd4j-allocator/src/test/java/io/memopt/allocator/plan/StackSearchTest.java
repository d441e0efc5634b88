// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StackSearchTest {
    private static final Deadline NEVER = new Deadline(() -> 0, Long.MAX_VALUE);

    /**
     * Looks at the clock that the search takes in some 50 ms of CPU; the clock is told by how often it is asked, so that no
     * machine is too slow.
     */
    private static final int LOOKS = 80;

    /** From 73 on those of seeds 0 to 499 whose plateaus are the widest. */
    @ParameterizedTest
    @ValueSource(
            longs = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 60, 73, 103, 123, 202, 207, 263, 323, 345, 363, 372, 375, 376, 397})
    void plan_ofTwoThousandUniformLives_isWithinThreePerMille(long seed) {
        PlanProblem problem = RandomProblem.uniform(2000, seed);
        Timeline time = new Timeline(problem);
        long bound = LowerBound.of(time);

        long[] plan = StackSearch.plan(time, Long.MAX_VALUE, bound + bound / 500, looks(LOOKS));

        assertThat(plan).isNotNull();
        assertThat((double) PlanValidator.validate(problem, plan)).isLessThanOrEqualTo(1.003 * bound);
    }

    /** The rest of the first try goes without steps back. */
    @Test
    void plan_whenTimeIsOverInTheFirstTry_isMadeToItsEnd() {
        PlanProblem problem = RandomProblem.uniform(2000, 6);
        Timeline time = new Timeline(problem);

        long[] plan = StackSearch.plan(time, Long.MAX_VALUE, 0, looks(2));

        assertThat(plan).isNotNull();
        assertThat((double) PlanValidator.validate(problem, plan)).isLessThan(1.04 * LowerBound.of(time));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 8, 64})
    void plan_withAlignments_isValid(long alignment) {
        PlanProblem uniform = RandomProblem.uniform(700, 1);
        Random random = new Random(alignment);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < uniform.count(); i++) {
            builder.add(uniform.start(i), uniform.end(i), uniform.size(i) + random.nextInt(100))
                    .alignment(random.nextBoolean() ? alignment : 1);
        }
        assertPlanned(builder.build());
    }

    /** Sizes are then rounded up to what an int can count. */
    @Test
    void plan_ofHugeSizes_isValid() {
        PlanProblem uniform = RandomProblem.uniform(700, 2);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < uniform.count(); i++) {
            builder.add(uniform.start(i), uniform.end(i), (uniform.size(i) << 25) + i);
        }
        assertPlanned(builder.build());
    }

    @Test
    void plan_whenAlignmentsDoNotDivideEachOther_isLeftToOthers() {
        PlanProblem uniform = RandomProblem.uniform(600, 2);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < uniform.count(); i++) {
            builder.add(uniform.start(i), uniform.end(i), uniform.size(i)).alignment(2 + i % 2);
        }
        PlanProblem problem = builder.build();

        assertThat(StackSearch.plan(new Timeline(problem), Long.MAX_VALUE, 0, NEVER))
                .isNull();
        MemoryPlan plan = MemoryPlanner.plan(problem, PlanOptions.greedy());
        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(plan.height());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void plan_ofShortLives_isValid(long seed) {
        PlanProblem problem = RandomProblem.shortLives(900, seed);
        Timeline time = new Timeline(problem);

        long[] plan = StackSearch.plan(time, Long.MAX_VALUE, LowerBound.of(time), looks(LOOKS));

        assertThat(plan).isNotNull();
        PlanValidator.validate(problem, plan);
    }

    @Test
    void plan_withTheSameProblem_isTheSame() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 3));

        assertThat(StackSearch.plan(time, Long.MAX_VALUE, 0, looks(LOOKS)))
                .isEqualTo(StackSearch.plan(time, Long.MAX_VALUE, 0, looks(LOOKS)));
    }

    @Test
    void plan_whenNoneIsLower_isNone() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        assertThat(StackSearch.plan(time, LowerBound.of(time), 0, looks(LOOKS))).isNull();
    }

    @Test
    void plan_whenTimeIsOver_isNone() {
        Timeline time = new Timeline(RandomProblem.uniform(1000, 0));
        assertThat(StackSearch.plan(time, Long.MAX_VALUE, 0, new Deadline(() -> 0, 0)))
                .isNull();
    }

    private static Deadline looks(int count) {
        long[] ticks = {0};
        return new Deadline(() -> ticks[0]++, count);
    }

    private static void assertPlanned(PlanProblem problem) {
        Timeline time = new Timeline(problem);

        long[] plan = StackSearch.plan(time, Long.MAX_VALUE, 0, looks(LOOKS));

        assertThat(plan).isNotNull();
        assertThat((double) PlanValidator.validate(problem, plan)).isLessThan(1.02 * LowerBound.of(time));
    }
}
