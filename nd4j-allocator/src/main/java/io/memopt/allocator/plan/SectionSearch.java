// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;

/**
 * Looks for a plan of at most a given height, and can prove that there is none.
 *
 * <p>Terms: <em>earliest</em> of a buffer is the lowest offset that it can still have; a section's <em>level</em> is the
 * lowest earliest among its open (not yet placed) buffers; its <em>makespan</em> is the height at which its open buffers end
 * when stacked in order of their earliest offsets with no care for other sections: the bound of a single machine with release
 * dates. A buffer is <em>flat</em> when nothing open that meets it could be put beneath it.
 *
 * <p>A decision takes a section all of whose buffers at its level are flat, the one that leaves fewest ways, and asks which of
 * them lies at the level: each in turn, and at last none of them. In a solution pushed down as far as it goes, what lies above
 * its earliest offset rests on an open buffer, so "none" lifts each of them to the lowest top of another open buffer. After
 * every decision:
 *
 * <ul>
 *   <li>a section whose makespan passes the capacity ends the branch;
 *   <li>a buffer that would overflow a section if it came first there comes after one that would not;
 *   <li>the open buffers fall apart where none crosses from one section to the next; each part is searched by itself;
 *   <li>what is left of a part (its open buffers and their earliest offsets) is looked up among what was refuted before.
 * </ul>
 *
 * <p>Canonical solutions, inference by sections, and the division of the search are those of M. D. Moffitt, MiniMalloc: A
 * Lightweight Memory Allocator for Hardware-Accelerated Machine Learning, ASPLOS 2023, doi:10.1145/3623278.3624752. Unlike
 * there, decisions need not follow the order of offsets, so that they can begin where there is least choice; the bounds are
 * those of one-machine scheduling (J. Carlier, The one-machine sequencing problem, European J. of Operational Research 11
 * (1982) 42-47, doi:10.1016/S0377-2217(82)80007-6); refuted parts are kept and restarts make use of them.
 *
 * <p>Refuted parts are known by 128 bits of hash. Threading: confined. No allocation while searching.
 */
final class SectionSearch {
    /** Which section decides next. */
    enum Rule {
        /** Fewest ways, the lowest level among equals. */
        FEWEST_WAYS,
        /** Lowest level, the fewest ways among equals. */
        LOWEST,
        /** Lowest level, the least room among equals. */
        LOWEST_AND_TIGHTEST
    }

    /** How an attempt ended. */
    enum Outcome {
        FOUND,
        REFUTED,
        GIVEN_UP
    }

    /** Thrown where the budget ends, anywhere in the recursion. */
    private static final class GivenUp extends RuntimeException {
        private static final long serialVersionUID = 1L;

        GivenUp() {
            super(null, null, false, false);
        }
    }

    private static final int NODES_PER_CLOCK = 32;

    private final SectionModel model;
    private final SectionState state;
    private final RefutedParts refuted;
    private final int capacity;
    private final Deadline deadline;
    private final int[] rank;
    private int[] choices = new int[1 << 10];
    private int choicesEnd;
    private Rule rule = Rule.FEWEST_WAYS;
    private long budget;
    private long nodes;

    /**
     * A search over fresh state.
     *
     * @param capacity height that must not be passed, in units of the model
     * @param refuted what earlier searches of the same model and capacity learned
     */
    SectionSearch(SectionModel model, int capacity, RefutedParts refuted, Deadline deadline) {
        this.model = model;
        this.capacity = capacity;
        this.refuted = refuted;
        this.deadline = deadline;
        state = new SectionState(model, capacity);
        rank = new int[model.count];
    }

    /** Decisions of all attempts so far. */
    long nodes() {
        return nodes;
    }

    /**
     * Tries once.
     *
     * @param order buffers of the model, to be tried in this order
     * @param most decisions after which to give up
     */
    Outcome attempt(Rule by, int[] order, long most) {
        rule = by;
        for (int k = 0; k < order.length; k++) {
            rank[order[k]] = k;
        }
        budget = nodes + most;
        choicesEnd = 0;
        int mark = state.mark();
        Outcome outcome;
        try {
            outcome = state.begin() && parts(0, model.sections) ? Outcome.FOUND : Outcome.REFUTED;
        } catch (GivenUp e) {
            outcome = Outcome.GIVEN_UP;
        }
        state.undo(mark);
        return outcome;
    }

    /** Where the buffers were put by the attempt that found a plan, in units. */
    int[] offsets() {
        return state.offsets;
    }

    /** Searches each part of a range of sections by itself, the narrowest first. */
    private boolean parts(int from, int to) {
        int first = choicesEnd;
        int start = from;
        for (int s = from + 1; s <= to; s++) {
            if (s == to || state.crossing[s] == 0) {
                if (state.open[start] > 0 || s - start > 1) {
                    pushPart(first, start, s);
                }
                start = s;
            }
        }
        int end = choicesEnd;
        for (int k = first; k < end; k += 2) {
            if (!solve(choices[k], choices[k + 1])) {
                choicesEnd = first;
                return false;
            }
        }
        choicesEnd = first;
        return true;
    }

    private void pushPart(int first, int from, int to) {
        ensureChoices(2);
        int at = choicesEnd;
        for (; at > first && choices[at - 1] - choices[at - 2] > to - from; at -= 2) {
            choices[at] = choices[at - 2];
            choices[at + 1] = choices[at - 1];
        }
        choices[at] = from;
        choices[at + 1] = to;
        choicesEnd += 2;
    }

    private boolean solve(int from, int to) {
        int section = choose(from, to);
        if (section < 0) {
            return true;
        }
        if (++nodes > budget || (nodes % NODES_PER_CLOCK == 0 && deadline.passed())) {
            throw new GivenUp();
        }
        long key = 0;
        long key2 = 0;
        for (int s = from; s < to; s++) {
            key += state.hash[s];
            key2 += state.hash2[s];
        }
        if (refuted.contains(key, key2)) {
            return false;
        }
        int first = choicesEnd;
        collect(section);
        int end = choicesEnd;
        int mark = state.mark();
        for (int k = first; k < end; k++) {
            if (!isTwin(first, k)) {
                if (state.place(choices[k]) && parts(from, to)) {
                    return true;
                }
                state.undo(mark);
            }
        }
        if (state.postpone(choices, first, end) && solve(from, to)) {
            return true;
        }
        state.undo(mark);
        choicesEnd = first;
        refuted.add(key, key2);
        return false;
    }

    /** The section to decide about, or -1 if all buffers are placed. */
    private int choose(int from, int to) {
        int best = -1;
        long bestKey = Long.MAX_VALUE;
        for (int s = from; s < to; s++) {
            if (state.open[s] > 0) {
                long key = key(s);
                if (key < bestKey && isFlat(s)) {
                    bestKey = key;
                    best = s;
                }
            }
        }
        return best;
    }

    private long key(int s) {
        int room = capacity - state.makespan[s];
        long count = room > 0 ? state.ways[s] + 1 : state.ways[s];
        return switch (rule) {
            case FEWEST_WAYS -> count << 32 | state.level[s];
            case LOWEST -> (long) state.level[s] << 32 | count;
            case LOWEST_AND_TIGHTEST -> (long) state.level[s] << 32 | room;
        };
    }

    private boolean isFlat(int s) {
        int[] here = state.members[s];
        for (int k = 0; k < state.open[s]; k++) {
            int b = here[k];
            if (state.earliest[b] == state.level[s]) {
                for (int t : model.cover[b]) {
                    if (state.lowestTop[t] <= state.level[s]) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    /** Pushes the buffers at the level of a section, by rank. */
    private void collect(int s) {
        int first = choicesEnd;
        int[] here = state.members[s];
        ensureChoices(state.open[s]);
        for (int k = 0; k < state.open[s]; k++) {
            int b = here[k];
            if (state.earliest[b] == state.level[s]) {
                int at = choicesEnd++;
                for (; at > first && rank[choices[at - 1]] > rank[b]; at--) {
                    choices[at] = choices[at - 1];
                }
                choices[at] = b;
            }
        }
    }

    private boolean isTwin(int first, int k) {
        int twin = model.twin[choices[k]];
        for (int before = first; before < k; before++) {
            if (model.twin[choices[before]] == twin) {
                return true;
            }
        }
        return false;
    }

    private void ensureChoices(int more) {
        if (choicesEnd + more > choices.length) {
            choices = Arrays.copyOf(choices, Math.max(choices.length * 2, choicesEnd + more));
        }
    }
}
