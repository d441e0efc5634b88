// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/**
 * One scratch memory for a whole network: passes run one after another, so that the memory needed is the largest of what they
 * need, not the sum. Under a budget B the least time is therefore reached by the fastest way within B of each pass by itself;
 * only the amounts that some way needs are budgets worth a look. That makes the optimum exact, and the whole front of time
 * against scratch a walk over at most as many budgets as there are ways: O(w log w + w p) for w ways in p passes.
 *
 * <p>The question is that of Y. Oyama, T. Ben-Nun, T. Hoefler, S. Matsuoka: Accelerating Deep Learning Frameworks with
 * Micro-Batches, IEEE CLUSTER 2018 (Belfast), whose WD case divides a budget among layers that do not
 * share. Here they share; ways that compute a minibatch in parts come in as further ways, see {@link ConvolutionAlgorithm#parts}.
 *
 * <p>Pure functions.
 */
public final class ScratchBudget {
    private ScratchBudget() {}

    /**
     * A choice for all passes.
     *
     * @param scratchBytes largest scratch memory of a chosen way
     * @param nanos sum of their times
     */
    public record Choice(long scratchBytes, long nanos, List<ConvolutionAlgorithm> algorithms) {
        public Choice {
            algorithms = List.copyOf(algorithms);
        }
    }

    /**
     * The least time within {@code budgetBytes}, and among choices of that time one with the least scratch.
     *
     * @param passes one table for each pass that runs in a step, repeated for those that run more than once
     * @return empty when some pass has no way within the budget
     */
    public static Optional<Choice> choose(List<AlgorithmTable> passes, long budgetBytes) {
        List<ConvolutionAlgorithm> chosen = new ArrayList<>(passes.size());
        long scratch = 0;
        long nanos = 0;
        for (AlgorithmTable table : passes) {
            Optional<ConvolutionAlgorithm> way = table.fastestWithin(budgetBytes);
            if (way.isEmpty()) {
                return Optional.empty();
            }
            chosen.add(way.get());
            scratch = Math.max(scratch, way.get().scratchBytes());
            nanos = Math.addExact(nanos, way.get().nanos());
        }
        return Optional.of(new Choice(scratch, nanos, chosen));
    }

    /**
     * Every choice that no other beats in both time and scratch, least scratch first, times strictly falling. Empty when some
     * pass has no way at all.
     */
    public static List<Choice> front(List<AlgorithmTable> passes) {
        TreeSet<Long> budgets = new TreeSet<>();
        passes.forEach(table -> table.algorithms().forEach(way -> budgets.add(way.scratchBytes())));
        List<Choice> front = new ArrayList<>();
        for (long budget : budgets) {
            choose(passes, budget)
                    .filter(choice -> front.isEmpty()
                            || choice.nanos() < front.get(front.size() - 1).nanos())
                    .ifPresent(front::add);
        }
        return List.copyOf(front);
    }
}
