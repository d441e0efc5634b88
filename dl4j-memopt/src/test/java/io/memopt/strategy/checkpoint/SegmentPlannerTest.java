// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentPlannerTest {

    @ParameterizedTest
    @MethodSource("seedsAndPlaces")
    void plan_isAsFastAsTheFastestOfAllCuts(long seed, KeptIn where) {
        Random random = new Random(seed);
        for (int round = 0; round < 20; round++) {
            Chain chain = random(random, 1 + random.nextInt(9));
            long budget = (long) (random.nextDouble() * chain.bytes());

            Segments planned = SegmentPlanner.plan(chain, where, budget);

            Segments best = best(chain, where, budget);
            if (best.bytes(chain, where) <= budget) {
                assertThat(planned.bytes(chain, where))
                        .as("seed %d round %d", seed, round)
                        .isLessThanOrEqualTo(budget);
                assertThat(planned.nanos(chain))
                        .as("seed %d round %d", seed, round)
                        .isEqualTo(best.nanos(chain));
            } else {
                assertThat(planned.bytes(chain, where))
                        .as("seed %d round %d", seed, round)
                        .isEqualTo(best.bytes(chain, where));
            }
            assertThat(planned.ends().subList(0, planned.count() - 1)).allMatch(chain::cuttable);
        }
    }

    private static Stream<Arguments> seedsAndPlaces() {
        return LongStream.rangeClosed(1, 20)
                .boxed()
                .flatMap(seed -> Arrays.stream(KeptIn.values()).map(where -> Arguments.of(seed, where)));
    }

    @ParameterizedTest
    @MethodSource("seedsAndPlaces")
    void plan_ofGraph_isAsFastAsTheFastestOfAllCuts(long seed, KeptIn where) {
        Random random = new Random(seed);
        for (int round = 0; round < 20; round++) {
            Chain chain = random(random, 1 + random.nextInt(9), any -> any.nextInt(5));
            long budget = (long) (random.nextDouble() * chain.bytes());

            Segments planned = SegmentPlanner.plan(chain, where, budget);

            Segments best = best(chain, where, budget);
            assertThat(planned.bytes(chain, where) <= budget)
                    .as("seed %d round %d", seed, round)
                    .isEqualTo(best.bytes(chain, where) <= budget);
            assertThat(best.bytes(chain, where) <= budget ? planned.nanos(chain) : planned.bytes(chain, where))
                    .as("seed %d round %d", seed, round)
                    .isEqualTo(best.bytes(chain, where) <= budget ? best.nanos(chain) : best.bytes(chain, where));
        }
    }

    @Test
    void cut_ofGraph_keepsEachOutputThatCrossesIt_once() {
        Chain chain = new Chain(List.of(used(10, 3), used(100, 2), used(1000, 3), used(10_000, 4)));

        Segments cut = new Segments(List.of(1, 2, 4));

        assertThat(chain.keptBytes(0, 2)).isEqualTo(110);
        assertThat(cut.bytes(chain, KeptIn.WORKSPACE)).isEqualTo(10 + 100 + 11_000);
    }

    /** Each segment but the last leaves one output, and has it in room of its own until it is copied. */
    @Test
    void keptElsewhere_weighsWhatTwoNeighboursUse_orNothing() {
        Chain chain = new Chain(List.of(used(10, 1), used(100, 2), used(1000, 3), used(10_000, 4)));

        Segments cut = new Segments(List.of(1, 2, 3, 4));

        assertThat(cut.bytes(chain, KeptIn.WORKSPACE)).isEqualTo(10 + 100 + 1000 + 10_000);
        assertThat(cut.bytes(chain, KeptIn.HOST)).isEqualTo(100 + 1000 + 10_000);
        assertThat(cut.bytes(chain, KeptIn.FILES)).isEqualTo(10_000);
    }

    /** Sixteen equal layers: in memory four segments of four, elsewhere as many as there are layers. */
    @Test
    void keptElsewhere_makesSegmentsShorter() {
        Chain chain = new Chain(IntStream.range(0, 16)
                .mapToObj(i -> new Chain.Cost(0, 100, 1, true, true, i + 1))
                .toList());

        assertThat(SegmentPlanner.plan(chain, KeptIn.WORKSPACE, 0).bytes(chain, KeptIn.WORKSPACE))
                .isEqualTo(3 * 100 + 4 * 100);
        assertThat(SegmentPlanner.plan(chain, KeptIn.HOST, 0).count()).isEqualTo(16);
        assertThat(SegmentPlanner.plan(chain, KeptIn.FILES, 0).count()).isEqualTo(16);
    }

    /** The long one is on the host while layers 1 and 2 are computed. */
    @Test
    void outputThatSeveralSegmentsPassOver_weighsOnTheHostOnlyWhereItIsUsed() {
        Chain chain = new Chain(List.of(used(500, 3), used(10, 2), used(10, 3), used(10, 4)));

        assertThat(KeptIn.HOST.keptBytes(chain, 0, 1)).isEqualTo(500);
        assertThat(KeptIn.HOST.keptBytes(chain, 1, 2)).isEqualTo(10);
        assertThat(KeptIn.HOST.keptBytes(chain, 3, 4)).isEqualTo(510);
    }

    private static Chain.Cost used(long output, int until) {
        return new Chain.Cost(0, output, 1, true, true, until);
    }

    @Test
    void plan_withRoomForAll_computesNothingAgain() {
        Chain chain = random(new Random(3), 12);

        Segments planned = SegmentPlanner.plan(chain, KeptIn.WORKSPACE, chain.bytes());

        assertThat(planned.nanos(chain)).isZero();
    }

    @Test
    void plan_ofLongChain_staysWithinItsBudget() {
        Chain chain = random(new Random(5), 150);

        Segments planned = SegmentPlanner.plan(chain, KeptIn.WORKSPACE, chain.bytes() * 4 / 10);

        assertThat(planned.bytes(chain, KeptIn.WORKSPACE)).isLessThanOrEqualTo(chain.bytes() * 4 / 10);
        assertThat(planned.nanos(chain)).isLessThan(chain.nanos());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void planEach_isWhatEachBudgetAloneGives(long seed) {
        Random random = new Random(seed);
        Chain chain = random(random, 12, any -> any.nextInt(5));
        long all = chain.bytes();

        List<Segments> together = SegmentPlanner.planEach(chain, KeptIn.WORKSPACE, all * 8 / 10, all / 2, all * 3 / 10);

        assertThat(together)
                .extracting(cut -> cut.nanos(chain))
                .containsExactly(
                        SegmentPlanner.plan(chain, KeptIn.WORKSPACE, all * 8 / 10)
                                .nanos(chain),
                        SegmentPlanner.plan(chain, KeptIn.WORKSPACE, all / 2).nanos(chain),
                        SegmentPlanner.plan(chain, KeptIn.WORKSPACE, all * 3 / 10)
                                .nanos(chain));
    }

    /** As many layers as a ResNet50 has, for which an even selection of bounds and pairs is looked at. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void plan_ofLongGraph_computesLessAgainThanEvenSegmentsOfAsManyBytes(long seed) {
        Chain chain = random(new Random(seed), 180, any -> 1 + any.nextInt(4));
        Segments even = Segments.even(chain.length(), index -> chain.cuttable(index + 1));

        Segments planned = SegmentPlanner.plan(chain, KeptIn.WORKSPACE, even.bytes(chain, KeptIn.WORKSPACE));

        assertThat(planned.bytes(chain, KeptIn.WORKSPACE)).isLessThanOrEqualTo(even.bytes(chain, KeptIn.WORKSPACE));
        assertThat(planned.nanos(chain)).isLessThan(even.nanos(chain) * 9 / 10);
    }

    @Test
    void even_cutsOnlyWhereItMay() {
        Segments even = Segments.even(9, index -> index != 2);

        assertThat(even.ends()).containsExactly(4, 7, 9);
    }

    private static Segments best(Chain chain, KeptIn where, long budget) {
        Segments fastest = null;
        Segments smallest = null;
        for (int cuts = 0; cuts < 1 << (chain.length() - 1); cuts++) {
            Segments segments = cut(chain, cuts);
            if (segments != null) {
                long bytes = segments.bytes(chain, where);
                boolean fits = bytes <= budget;
                if (fits && (fastest == null || segments.nanos(chain) < fastest.nanos(chain))) {
                    fastest = segments;
                }
                if (smallest == null || bytes < smallest.bytes(chain, where)) {
                    smallest = segments;
                }
            }
        }
        return fastest != null ? fastest : smallest;
    }

    private static Segments cut(Chain chain, int cuts) {
        List<Integer> ends = new ArrayList<>();
        for (int i = 1; i < chain.length(); i++) {
            if ((cuts >> (i - 1) & 1) == 1) {
                if (!chain.cuttable(i)) {
                    return null;
                }
                ends.add(i);
            }
        }
        ends.add(chain.length());
        return new Segments(ends);
    }

    private static Chain random(Random random, int length) {
        return random(random, length, any -> 1);
    }

    /** A graph: outputs are used by one of the next layers, or by several. */
    private static Chain random(Random random, int length, ToIntFunction<Random> reach) {
        List<Chain.Cost> costs = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            costs.add(new Chain.Cost(
                    random.nextInt(4) == 0 ? random.nextInt(50) : 0,
                    random.nextInt(100),
                    random.nextInt(100),
                    random.nextInt(5) != 0,
                    random.nextInt(3) != 0,
                    i + reach.applyAsInt(random)));
        }
        return new Chain(costs);
    }
}
