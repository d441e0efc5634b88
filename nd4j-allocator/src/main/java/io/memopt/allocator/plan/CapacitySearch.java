// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import io.memopt.allocator.plan.SectionSearch.Outcome;
import io.memopt.allocator.plan.SectionSearch.Rule;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Asks again and again for a plan of one height, each time by another rule and order, with budgets that follow the sequence
 * of M. Luby, A. Sinclair and D. Zuckerman (Optimal speedup of Las Vegas algorithms, Information Processing Letters 47 (1993)
 * 173-180, doi:10.1016/0020-0190(93)90029-9): the time that a search takes varies so much with its order that many short
 * tries find a plan sooner than a long one. Two of three tries are for the model with chains, the others for the model
 * itself, which alone can refute.
 *
 * <p>Repeatable: the same calls give the same plan unless time ran out in between.
 */
final class CapacitySearch {
    /** Decisions of the shortest try beyond those that merely place each buffer. */
    private static final int SHORTEST = 100;

    /** Keys of importance are multiplied by up to one more than this. */
    private static final double NOISE = 1;

    /** Places for refuted parts, as powers of two: 4 MiB, and 256 KiB. */
    private static final int MOST_KNOWN = 18;

    private static final int FEW_KNOWN = 14;

    private static final Rule[] RULES = Rule.values();

    private final Branch chained;
    private final Branch plain;
    private final int capacity;
    private Branch last;
    private boolean chainsWrong;
    private int tries;

    CapacitySearch(SectionModel model, SectionModel chainedModel, int capacity, Deadline deadline) {
        this.capacity = capacity;
        plain = new Branch(model, capacity, MOST_KNOWN, deadline);
        chained = chainedModel == model ? plain : new Branch(chainedModel, capacity, MOST_KNOWN, deadline);
        last = plain;
    }

    /**
     * Tries the model itself alone, a few times: remembers less of what is refuted.
     *
     * @param firstTry number of the try to begin with, from 0
     */
    CapacitySearch(SectionModel model, int capacity, int firstTry, Deadline deadline) {
        this.capacity = capacity;
        plain = new Branch(model, capacity, FEW_KNOWN, deadline);
        plain.tries = firstTry;
        chained = plain;
        last = plain;
    }

    /** Number of the next try at the model itself. */
    int nextTry() {
        return plain.tries;
    }

    int capacity() {
        return capacity;
    }

    long nodes() {
        return plain == chained ? plain.search.nodes() : plain.search.nodes() + chained.search.nodes();
    }

    /** The next try. */
    Outcome next() {
        last = chainsWrong || tries++ % 3 == 2 ? plain : chained;
        Outcome outcome = last.next();
        if (outcome == Outcome.REFUTED && last != plain) {
            chainsWrong = true;
            return next();
        }
        return outcome;
    }

    /** Offsets in bytes of the last try, which was successful. */
    long[] offsets(int buffers) {
        return last.model.expand(last.search.offsets(), buffers);
    }

    /** One model with its tries. */
    private static final class Branch {
        private final SectionModel model;
        private final SectionSearch search;
        private final SplittableRandom random = new SplittableRandom(1);
        private int tries;

        Branch(SectionModel model, int capacity, int mostKnown, Deadline deadline) {
            this.model = model;
            int bits = Math.min(mostKnown, 10 + 32 - Integer.numberOfLeadingZeros(model.count));
            search = new SectionSearch(model, capacity, new RefutedParts(bits), deadline);
        }

        Outcome next() {
            int orders = Importance.values().length;
            int configurations = orders * RULES.length;
            int round = tries / configurations;
            Importance importance = Importance.values()[tries % orders];
            Rule rule = RULES[tries / orders % RULES.length];
            tries++;
            double noise = round == 0 ? 0 : NOISE;
            return search.attempt(rule, order(importance, noise), luby(round + 1) * (SHORTEST + model.count));
        }

        private int[] order(Importance importance, double noise) {
            double[] keys = new double[model.count];
            for (int b = 0; b < keys.length; b++) {
                keys[b] = importance.of(model, b) * (1 + noise * random.nextDouble());
            }
            return IntStream.range(0, keys.length)
                    .boxed()
                    .sorted((a, b) -> Double.compare(keys[b], keys[a]))
                    .mapToInt(Integer::intValue)
                    .toArray();
        }
    }

    /** What makes a buffer come first. */
    private enum Importance {
        AREA,
        LIFETIME,
        SIZE,
        LOAD,
        EARLY_BIRTH,
        LATE_DEATH;

        double of(SectionModel model, int b) {
            int[] cover = model.cover[b];
            double area = (double) cover.length * model.size[b];
            return cover.length == 0
                    ? 0
                    : switch (this) {
                        case AREA -> area;
                        case LIFETIME -> cover.length;
                        case SIZE -> model.size[b];
                        case LOAD -> model.busiest[b] * 1e6 + area;
                        case EARLY_BIRTH -> model.sections - cover[0];
                        case LATE_DEATH -> cover[cover.length - 1] + 1;
                    };
        }
    }

    /** 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ..., from 1 on. */
    static long luby(int i) {
        int power = 32 - Integer.numberOfLeadingZeros(i);
        int full = (1 << power) - 1;
        return i == full ? 1L << (power - 1) : luby(i - (1 << (power - 1)) + 1);
    }
}
