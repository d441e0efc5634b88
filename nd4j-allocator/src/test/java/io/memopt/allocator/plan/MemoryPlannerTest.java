// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryPlannerTest {
    /** Never reached on a machine that works: every test ends with a proof. */
    private static final Duration AMPLE = Duration.ofMinutes(2);

    static LongStream hundreds() {
        return LongStream.range(0, 12).map(i -> i * 100);
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void plan_ofAHandful_isAsLowAsBruteForce(long firstSeed) {
        for (long seed = firstSeed; seed < firstSeed + 100; seed++) {
            PlanProblem problem = RandomProblem.tiny(seed);
            long lowest = BruteForce.height(problem);

            Certificate certificate = check(problem, PlanOptions.within(AMPLE));

            assertThat(certificate.lowerBound()).as("bound, seed %d", seed).isLessThanOrEqualTo(lowest);
            if (isWindowed(problem)) {
                assertThat(certificate.height()).as("height, seed %d", seed).isGreaterThanOrEqualTo(lowest);
            } else {
                assertThat(certificate.height()).as("height, seed %d", seed).isEqualTo(lowest);
                assertThat(certificate.optimal()).as("proof, seed %d", seed).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void plan_underEveryOption_isValidAndNeverClaimsTooMuch(long firstSeed) {
        for (long seed = firstSeed; seed < firstSeed + 20; seed++) {
            PlanProblem problem = RandomProblem.tiny(seed);
            long lowest = BruteForce.height(problem);
            for (boolean search : new boolean[] {false, true}) {
                for (Duration timeout : new Duration[] {Duration.ZERO, AMPLE}) {
                    for (long capacity : new long[] {-1, 0, Math.max(0, lowest - 1), lowest, lowest + 3}) {
                        OptionalLong wanted = capacity < 0 ? OptionalLong.empty() : OptionalLong.of(capacity);
                        Certificate certificate = check(problem, new PlanOptions(wanted, timeout, search));
                        assertThat(certificate.lowerBound())
                                .as("seed %d, capacity %d", seed, capacity)
                                .isLessThanOrEqualTo(lowest);
                        if (search && !timeout.isZero() && capacity >= 0 && !isWindowed(problem)) {
                            assertThat(certificate.provesImpossible(capacity)).isEqualTo(capacity < lowest);
                            assertThat(certificate.height() <= capacity).isEqualTo(capacity >= lowest);
                        }
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void plan_ofACutRectangle_putsItTogetherAgain(long seed) {
        PlanProblem problem = RandomProblem.cut(60, 1000, seed);

        Certificate certificate = check(problem, PlanOptions.within(AMPLE));

        assertThat(certificate.height()).isEqualTo(1000);
        assertThat(certificate.optimal()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void plan_ofTrainingLikeLives_isWithinThreePerMille(long seed) {
        PlanProblem problem = RandomProblem.training(2000, seed);

        Certificate certificate = check(problem, PlanOptions.within(AMPLE).withCapacity(withinThreePerMille(problem)));

        assertThat((double) certificate.height()).isLessThanOrEqualTo(1.003 * certificate.lowerBound());
    }

    @Test
    void plan_ofHugeSizes_isSearchedInTheirUnit() {
        PlanProblem small = RandomProblem.cut(60, 1000, 2);
        PlanProblem.Builder huge = PlanProblem.builder();
        for (int i = 0; i < small.count(); i++) {
            huge.add(small.start(i), small.end(i), small.size(i) << 30);
        }

        Certificate certificate = check(huge.build(), PlanOptions.within(AMPLE));

        assertThat(certificate.height()).isEqualTo(1000L << 30);
    }

    @Test
    void plan_ofHugeSizesWithoutAUnit_isStillMade() {
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < 40; i++) {
            builder.add(i, i + 7, (1L << 40) + (long) i * (i + 1));
        }

        Certificate certificate = check(builder.build(), PlanOptions.within(AMPLE));

        assertThat(certificate.lowerBound()).isGreaterThan(7L << 40);
    }

    @Test
    void plan_ofShortLives_isWithinThreePerMille() {
        PlanProblem problem = RandomProblem.shortLives(1000, 1);

        Certificate certificate = check(problem, PlanOptions.within(AMPLE).withCapacity(withinThreePerMille(problem)));

        assertThat((double) certificate.height()).isLessThanOrEqualTo(1.003 * certificate.lowerBound());
    }

    @Test
    void plan_ofManyBuffers_isValid() {
        PlanProblem problem = RandomProblem.shortLives(100_000, 5);

        Certificate certificate = check(problem, PlanOptions.greedy());

        assertThat(certificate.nodes()).isZero();
        assertThat((double) certificate.height()).isLessThan(1.3 * certificate.lowerBound());
    }

    @Test
    void plan_ofIterations_dividesWhereNobodyIsLive() {
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int iteration = 0; iteration < 1000; iteration++) {
            long t = iteration * 10L;
            builder.add(t, t + 3, 4).add(t + 2, t + 9, 6).add(t + 3, t + 9, 4).alignment(2);
        }

        Certificate certificate = check(builder.build(), PlanOptions.greedy());

        assertThat(certificate.height()).isEqualTo(10);
        assertThat(certificate.optimal()).isTrue();
    }

    @Test
    void plan_withTheSameProblem_isTheSame() {
        PlanProblem problem = RandomProblem.cut(60, 1000, 2);

        MemoryPlan first = MemoryPlanner.plan(problem, PlanOptions.within(AMPLE));
        MemoryPlan second = MemoryPlanner.plan(problem, PlanOptions.within(AMPLE));

        assertThat(second.offsets()).isEqualTo(first.offsets());
        assertThat(second.certificate().nodes()).isEqualTo(first.certificate().nodes());
    }

    @Test
    void plan_whoseTimeIsOver_isTheFirstGreedyOne() {
        PlanProblem problem = RandomProblem.cut(200, 1000, 3);

        Certificate certificate = check(problem, PlanOptions.within(Duration.ZERO));

        assertThat(certificate.method()).isEqualTo(PlanMethod.BEST_FIT_IN_TIME);
        assertThat(certificate.nodes()).isZero();
        assertThat(certificate.lowerBound()).isEqualTo(1000);
    }

    @Test
    void plan_whenTheClockRunsOut_stopsTheSearch() {
        PlanProblem problem = RandomProblem.cut(400, 1_000_000, 4);
        long[] ticks = {0};

        // One millisecond passes with each look at the clock.
        MemoryPlan plan =
                MemoryPlanner.plan(problem, PlanOptions.within(Duration.ofMillis(60)), () -> ticks[0]++ * 1_000_000);

        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(plan.height());
        assertThat(plan.certificate().nodes()).isBetween(1L, 60L * 32);
    }

    @Test
    void plan_ofAnInterruptedThread_returnsWithTheInterruptSet() {
        PlanProblem problem = RandomProblem.cut(400, 1_000_000, 4);
        Thread.currentThread().interrupt();
        boolean interrupted;
        try {
            check(problem, PlanOptions.within(AMPLE));
        } finally {
            interrupted = Thread.interrupted();
        }
        assertThat(interrupted).isTrue();
    }

    @Test
    void plan_ofNothing_isEmpty() {
        Certificate certificate = check(PlanProblem.builder().build(), PlanOptions.within(AMPLE));

        assertThat(certificate.height()).isZero();
        assertThat(certificate.optimal()).isTrue();
    }

    @Test
    void plan_withFixedBuffersThatMeet_isRefused() {
        PlanProblem problem = PlanProblem.builder()
                .add(0, 2, 8)
                .add(2, 7, 8)
                .fixedAt(0)
                .add(6, 9, 9)
                .fixedAt(4)
                .build();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemoryPlanner.plan(problem, PlanOptions.greedy()))
                .withMessageContaining("size=8 that lives on [2, 7) cannot lie at its fixed offset=0");
    }

    @Test
    void problem_thatMakesNoSense_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder().add(3, 3, 1))
                .withMessageContaining("start=3, end=3");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder().add(0, 1, 0))
                .withMessageContaining("size=0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder().add(0, 1, 1L << 61).add(0, 1, 1))
                .withMessageContaining("2^61");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder().add(0, 9, 1).gap(3, 5).gap(4, 6))
                .withMessageContaining("gap=[4, 6)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder().add(0, 9, 4).gap(3, 5, 2, 5))
                .withMessageContaining("window=[2, 5)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanProblem.builder()
                        .add(0, 9, 4)
                        .fixedAt(6)
                        .alignment(4)
                        .build())
                .withMessageContaining("alignment=4");
        assertThatIllegalStateException().isThrownBy(() -> PlanProblem.builder().alignment(4));
    }

    private static boolean isWindowed(PlanProblem problem) {
        for (int gap = 0; gap < problem.gapCount(); gap++) {
            if (problem.gapLow(gap) < problem.gapHigh(gap)) {
                return true;
            }
        }
        return false;
    }

    private static long withinThreePerMille(PlanProblem problem) {
        return (long) (1.003 * LowerBound.of(new Timeline(problem)));
    }

    private static Certificate check(PlanProblem problem, PlanOptions options) {
        MemoryPlan plan = MemoryPlanner.plan(problem, options);
        assertThat(PlanValidator.validate(problem, plan.offsets())).isEqualTo(plan.height());
        assertThat(plan.certificate().lowerBound()).isLessThanOrEqualTo(plan.height());
        return plan.certificate();
    }
}
