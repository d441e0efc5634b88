// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static io.memopt.allocator.cudnn.Ways.table;
import static io.memopt.allocator.cudnn.Ways.way;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.cudnn.ScratchBudget.Choice;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScratchBudgetTest {
    private static final int CASES = 300;

    /** Time and scratch of one combination of ways. */
    private record Sum(long scratch, long nanos) {}

    @Test
    void choose_takesTheFastestOfEachPassWithinTheBudget() {
        AlgorithmTable first = table(way(0, 0, 10), way(1, 100, 4));
        AlgorithmTable second = table(way(0, 0, 7), way(1, 50, 3));

        assertThat(ScratchBudget.choose(List.of(first, second), 99))
                .hasValueSatisfying(choice ->
                        assertThat(choice).isEqualTo(new Choice(50, 13, List.of(way(0, 0, 10), way(1, 50, 3)))));
        assertThat(ScratchBudget.choose(List.of(first, second), 100))
                .map(Choice::nanos)
                .hasValue(7L);
    }

    @Test
    void choose_whenAPassHasNothingWithinTheBudget_isEmpty() {
        assertThat(ScratchBudget.choose(List.of(table(way(0, 10, 1))), 9)).isEmpty();
        assertThat(ScratchBudget.front(List.of(table(way(0, 10, 1)), table()))).isEmpty();
    }

    @Test
    void front_isFromTheLeastScratchToTheLeastTime() {
        List<Choice> front = ScratchBudget.front(
                List.of(table(way(0, 0, 10), way(1, 100, 4)), table(way(0, 0, 7), way(1, 50, 3), way(2, 200, 3))));

        assertThat(front).extracting(Choice::scratchBytes).containsExactly(0L, 50L, 100L);
        assertThat(front).extracting(Choice::nanos).containsExactly(17L, 13L, 7L);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void chooseAndFront_equalBruteForce(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < CASES; i++) {
            List<AlgorithmTable> passes = new ArrayList<>();
            for (int pass = 1 + random.nextInt(5); pass > 0; pass--) {
                passes.add(Ways.random(random, 4));
            }
            List<Sum> all = combinations(passes);
            for (long budget = 0; budget < 7; budget++) {
                long limit = budget;
                assertThat(ScratchBudget.choose(passes, budget).map(Choice::nanos))
                        .as("seed %d case %d budget %d %s", seed, i, budget, passes)
                        .isEqualTo(all.stream()
                                .filter(sum -> sum.scratch <= limit)
                                .map(Sum::nanos)
                                .min(Long::compare));
            }
            assertThat(ScratchBudget.front(passes))
                    .as("seed %d case %d %s", seed, i, passes)
                    .extracting(choice -> new Sum(choice.scratchBytes(), choice.nanos()))
                    .containsExactlyInAnyOrderElementsOf(undominated(all));
        }
    }

    private static List<Sum> combinations(List<AlgorithmTable> passes) {
        List<Sum> sums = List.of(new Sum(0, 0));
        for (AlgorithmTable table : passes) {
            List<Sum> longer = new ArrayList<>();
            for (Sum sum : sums) {
                for (ConvolutionAlgorithm way : table.algorithms()) {
                    longer.add(new Sum(Math.max(sum.scratch, way.scratchBytes()), sum.nanos + way.nanos()));
                }
            }
            sums = longer;
        }
        return sums;
    }

    private static List<Sum> undominated(List<Sum> all) {
        return all.stream()
                .distinct()
                .filter(sum -> all.stream()
                        .noneMatch(other ->
                                !other.equals(sum) && other.scratch <= sum.scratch && other.nanos <= sum.nanos))
                .toList();
    }
}
