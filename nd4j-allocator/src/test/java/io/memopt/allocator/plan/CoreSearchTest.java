// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CoreSearchTest {
    private static final Deadline NEVER = new Deadline(() -> 0, Long.MAX_VALUE);

    /** From 35 on those of seeds 0 to 499 that take the most tries. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 5, 6, 7, 10, 14, 17, 35, 43, 49, 55, 84, 129, 162, 292, 399})
    void plan_ofTwoThousandShortLives_isAtTheBound(long seed) {
        PlanProblem problem = RandomProblem.shortLives(2000, seed);

        assertThat(height(problem)).isEqualTo(bound(problem));
    }

    @Test
    void plan_ofTenThousandShortLives_isAtTheBound() {
        PlanProblem problem = RandomProblem.shortLives(10_000, 5);

        Certificate certificate = MemoryPlanner.plan(
                        problem, PlanOptions.within(Duration.ofMinutes(2)).withCapacity(bound(problem)))
                .certificate();

        assertThat(certificate.height()).isEqualTo(bound(problem));
        assertThat(certificate.method()).isEqualTo(PlanMethod.CORE_SEARCH);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 8})
    void plan_withAlignments_isValid(long alignment) {
        PlanProblem problem = aligned(alignment);

        assertThat(height(problem)).isLessThanOrEqualTo(bound(problem) + bound(problem) / 512);
    }

    /** No plan of the core is at the bound, but some are just above it. */
    @Test
    void plan_whenTheCoreNeedsALittleMore_isGivenThat() {
        PlanProblem problem = aligned(64);
        long height = height(problem);

        assertThat(height).isBetween(bound(problem) + 1, bound(problem) + bound(problem) / 512);
        assertThat(search(problem, NEVER).plan(height, bound(problem)))
                .as("lower than that")
                .isNull();
    }

    private static PlanProblem aligned(long alignment) {
        PlanProblem shortLives = RandomProblem.shortLives(700, 1);
        Random random = new Random(alignment);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < shortLives.count(); i++) {
            builder.add(shortLives.start(i), shortLives.end(i), shortLives.size(i) + random.nextInt(100))
                    .alignment(random.nextBoolean() ? alignment : 1);
        }
        return builder.build();
    }

    @Test
    void plan_ofHugeSizes_isAtTheBound() {
        PlanProblem shortLives = RandomProblem.shortLives(900, 2);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < shortLives.count(); i++) {
            builder.add(shortLives.start(i), shortLives.end(i), shortLives.size(i) << 30);
        }
        PlanProblem problem = builder.build();

        assertThat(height(problem)).isEqualTo(bound(problem));
    }

    /** Of these bytes the search cannot make integers. */
    @Test
    void plan_ofHugeSizesWithoutAUnit_isLeftToOthers() {
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < 600; i++) {
            builder.add(i, i + 7, (1L << 40) + (long) i * (i + 1));
        }
        PlanProblem problem = builder.build();

        assertThat(plan(problem, bound(problem), NEVER)).isNull();
    }

    @Test
    void plan_whenTooManyLiveAtTheBusiestMoment_isLeftToOthers() {
        PlanProblem problem = RandomProblem.uniform(2000, 0);

        assertThat(plan(problem, bound(problem), NEVER)).isNull();
    }

    /** Two that begin at multiples of 4 leave a hole of one byte. */
    @Test
    void plan_whenTheCoreNeedsMoreThanTheGoal_isNone() {
        PlanProblem.Builder builder = PlanProblem.builder();
        builder.add(0, 3, 3).alignment(4).add(0, 3, 3).alignment(4).add(0, 3, 2);
        for (int i = 0; i < 400; i++) {
            builder.add(2 + i, 4 + i, 2);
        }
        PlanProblem problem = builder.build();

        assertThat(bound(problem)).isEqualTo(10);
        assertThat(plan(problem, 10, NEVER)).isNull();
        assertThat(plan(problem, 11, NEVER)).isNotNull();
    }

    @Test
    void plan_withTheSameProblem_isTheSame() {
        PlanProblem problem = RandomProblem.shortLives(1000, 3);

        assertThat(plan(problem, bound(problem), NEVER)).isNotNull().isEqualTo(plan(problem, bound(problem), NEVER));
    }

    @Test
    void plan_whenTimeIsOver_isNone() {
        PlanProblem problem = RandomProblem.shortLives(1000, 3);

        assertThat(plan(problem, bound(problem), new Deadline(() -> 0, 0))).isNull();
    }

    private static long height(PlanProblem problem) {
        long[] plan = plan(problem, bound(problem), NEVER);
        return PlanValidator.validate(problem, Objects.requireNonNull(plan, "no plan"));
    }

    private static long @Nullable [] plan(PlanProblem problem, long goal, Deadline deadline) {
        return search(problem, deadline).plan(Long.MAX_VALUE, goal);
    }

    private static CoreSearch search(PlanProblem problem, Deadline deadline) {
        Timeline time = new Timeline(problem);
        return new CoreSearch(time, Orders.byLoad(time), deadline);
    }

    private static long bound(PlanProblem problem) {
        return LowerBound.of(new Timeline(problem));
    }
}
