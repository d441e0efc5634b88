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

    private static final int NEVER = 1 << 30;
    private static final int NODES_PER_CLOCK = 32;

    private static final int EARLIEST = 0;
    private static final int PLACED = 1;
    private static final int SECTION = 2;

    private final SectionModel model;
    private final RefutedParts refuted;
    private final int capacity;
    private final Deadline deadline;
    private final int[][] cover;
    private final int[] size;
    private final int[] earliest;
    private final int[] latest;
    private final int[] offsets;

    /** Open buffers of each section come first, in no fixed order, then the placed ones, last placed first. */
    private final int[][] members;

    private final int[] open;
    private final int[] total;
    private final int[] makespan;
    private final int[] level;
    private final int[] lowestTop;
    private final int[] ways;
    /** Open buffers that live both in a section and in the one before it. */
    private final int[] crossing;

    private final long[] hash;
    private final long[] hash2;

    private final int[] queue;
    private final boolean[] queued;
    private int queueEnd;

    private int[] trail = new int[1 << 12];
    private int trailEnd;
    private int[] choices = new int[1 << 10];
    private int choicesEnd;

    private Rule rule = Rule.FEWEST_WAYS;
    private int[] rank;
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
        cover = model.cover;
        size = model.size;
        int sections = model.sections;
        earliest = new int[model.count];
        latest = new int[model.count];
        offsets = new int[model.count];
        rank = new int[model.count];
        members = new int[sections][];
        open = new int[sections];
        total = new int[sections];
        makespan = new int[sections];
        level = new int[sections];
        lowestTop = new int[sections];
        ways = new int[sections];
        crossing = new int[sections + 1];
        hash = new long[sections + 1];
        hash2 = new long[sections + 1];
        queue = new int[sections + 1];
        queued = new boolean[sections];
        fill();
    }

    private void fill() {
        int[] lengths = new int[model.sections];
        for (int[] each : cover) {
            for (int s : each) {
                lengths[s]++;
            }
        }
        for (int s = 0; s < members.length; s++) {
            members[s] = new int[lengths[s]];
        }
        for (int b = 0; b < model.count; b++) {
            latest[b] = model.fixed[b] >= 0 ? Math.min(model.fixed[b], capacity - size[b]) : capacity - size[b];
            earliest[b] = Math.max(0, model.fixed[b]);
            offsets[b] = earliest[b];
            for (int s : cover[b]) {
                members[s][open[s]++] = b;
                total[s] += size[b];
            }
            if (cover[b].length > 0) {
                cross(b, 1);
                mixIn(b, 1);
            }
        }
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
        int mark = trailEnd;
        Outcome outcome;
        try {
            outcome = possible() && propagateAll() && parts(0, model.sections) ? Outcome.FOUND : Outcome.REFUTED;
        } catch (GivenUp e) {
            outcome = Outcome.GIVEN_UP;
        }
        undo(mark);
        return outcome;
    }

    /** Where the buffers were put by the attempt that found a plan, in units. */
    int[] offsets() {
        return offsets;
    }

    private boolean possible() {
        for (int b = 0; b < model.count; b++) {
            if (earliest[b] > latest[b]) {
                return false;
            }
        }
        return true;
    }

    private boolean propagateAll() {
        for (int s = 0; s < model.sections; s++) {
            enqueue(s);
        }
        return propagate();
    }

    /** Searches each part of a range of sections by itself, the narrowest first. */
    private boolean parts(int from, int to) {
        int first = choicesEnd;
        int start = from;
        for (int s = from + 1; s <= to; s++) {
            if (s == to || crossing[s] == 0) {
                if (open[start] > 0 || s - start > 1) {
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
            key += hash[s];
            key2 += hash2[s];
        }
        if (refuted.contains(key, key2)) {
            return false;
        }
        int first = choicesEnd;
        collect(section);
        int end = choicesEnd;
        int mark = trailEnd;
        for (int k = first; k < end; k++) {
            if (!isTwin(first, k)) {
                if (place(choices[k]) && parts(from, to)) {
                    return true;
                }
                undo(mark);
            }
        }
        if (postpone(first, end) && solve(from, to)) {
            return true;
        }
        undo(mark);
        choicesEnd = first;
        refuted.add(key, key2);
        return false;
    }

    /** The section to decide about, or -1 if all buffers are placed. */
    private int choose(int from, int to) {
        int best = -1;
        long bestKey = Long.MAX_VALUE;
        for (int s = from; s < to; s++) {
            if (open[s] > 0) {
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
        int room = capacity - makespan[s];
        long count = room > 0 ? ways[s] + 1 : ways[s];
        return switch (rule) {
            case FEWEST_WAYS -> count << 32 | level[s];
            case LOWEST -> (long) level[s] << 32 | count;
            case LOWEST_AND_TIGHTEST -> (long) level[s] << 32 | room;
        };
    }

    private boolean isFlat(int s) {
        int[] here = members[s];
        for (int k = 0; k < open[s]; k++) {
            int b = here[k];
            if (earliest[b] == level[s]) {
                for (int t : cover[b]) {
                    if (lowestTop[t] <= level[s]) {
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
        int[] here = members[s];
        ensureChoices(open[s]);
        for (int k = 0; k < open[s]; k++) {
            int b = here[k];
            if (earliest[b] == level[s]) {
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

    private boolean place(int b) {
        offsets[b] = earliest[b];
        int top = earliest[b] + size[b];
        mixIn(b, -1);
        cross(b, -1);
        for (int s : cover[b]) {
            int[] here = members[s];
            int at = 0;
            while (here[at] != b) {
                at++;
            }
            int last = --open[s];
            here[at] = here[last];
            here[last] = b;
            total[s] -= size[b];
        }
        push(b, 0, 0, 0, PLACED, 0);
        for (int s : cover[b]) {
            enqueue(s);
            int[] here = members[s];
            for (int k = 0; k < open[s]; k++) {
                if (earliest[here[k]] < top && !raise(here[k], top)) {
                    return false;
                }
            }
        }
        return propagate();
    }

    /** Decides that none of the buffers among the choices lies at its earliest offset. */
    private boolean postpone(int first, int end) {
        for (int k = first; k < end; k++) {
            int b = choices[k];
            int support = NEVER;
            for (int s : cover[b]) {
                int[] here = members[s];
                for (int i = 0; i < open[s]; i++) {
                    int other = here[i];
                    if (other != b) {
                        support = Math.min(support, Math.max(earliest[other] + size[other], earliest[b] + 1));
                    }
                }
            }
            if (!raise(b, support)) {
                return false;
            }
        }
        return propagate();
    }

    /** Lifts the earliest offset of an open buffer; false if it is too high then. */
    private boolean raise(int b, int least) {
        int alignment = model.alignment[b];
        int value = alignment <= 1 ? least : (least + alignment - 1) / alignment * alignment;
        if (value > latest[b]) {
            return false;
        }
        push(b, earliest[b], 0, 0, EARLIEST, 0);
        mixIn(b, -1);
        earliest[b] = value;
        mixIn(b, 1);
        for (int s : cover[b]) {
            enqueue(s);
        }
        return true;
    }

    private void enqueue(int s) {
        if (!queued[s]) {
            queued[s] = true;
            queue[queueEnd++] = s;
        }
    }

    /** Brings all sections in the queue up to date; false, and an empty queue after {@link #undo}, if one cannot be. */
    private boolean propagate() {
        while (queueEnd > 0) {
            int s = queue[--queueEnd];
            queued[s] = false;
            if (!update(s)) {
                return false;
            }
        }
        return true;
    }

    private boolean update(int s) {
        int[] here = members[s];
        int count = open[s];
        push(makespan[s], level[s], lowestTop[s], ways[s], SECTION, s);
        if (count == 0) {
            makespan[s] = 0;
            lowestTop[s] = NEVER;
            return true;
        }
        sort(here, count);
        int end = 0;
        int low = NEVER;
        int least = earliest[here[0]];
        int atLevel = 0;
        int latestFirst = capacity - total[s];
        int firstTop = NEVER;
        for (int k = 0; k < count; k++) {
            int b = here[k];
            int value = earliest[b];
            int top = value + size[b];
            end = Math.max(end, value) + size[b];
            low = Math.min(low, top);
            if (value == least) {
                atLevel++;
            }
            if (value <= latestFirst) {
                firstTop = low;
            }
        }
        makespan[s] = end;
        level[s] = least;
        lowestTop[s] = low;
        ways[s] = atLevel;
        return end <= capacity && raiseLate(here, count, latestFirst, firstTop);
    }

    /** What would overflow the section if it came first cannot begin before the lowest top of what would not. */
    private boolean raiseLate(int[] here, int count, int latestFirst, int firstTop) {
        for (int k = count - 1; k >= 0 && earliest[here[k]] > latestFirst; k--) {
            if (earliest[here[k]] < firstTop && !raise(here[k], firstTop)) {
                return false;
            }
        }
        return true;
    }

    private void sort(int[] here, int count) {
        for (int k = 1; k < count; k++) {
            int b = here[k];
            int value = earliest[b];
            int at = k;
            for (; at > 0 && earliest[here[at - 1]] > value; at--) {
                here[at] = here[at - 1];
            }
            here[at] = b;
        }
    }

    private void push(int a, int b, int c, int d, int tag, int at) {
        if (trailEnd + 6 > trail.length) {
            trail = Arrays.copyOf(trail, trail.length * 2);
        }
        trail[trailEnd] = a;
        trail[trailEnd + 1] = b;
        trail[trailEnd + 2] = c;
        trail[trailEnd + 3] = d;
        trail[trailEnd + 4] = tag;
        trail[trailEnd + 5] = at;
        trailEnd += 6;
    }

    private void undo(int mark) {
        while (queueEnd > 0) {
            queued[queue[--queueEnd]] = false;
        }
        while (trailEnd > mark) {
            trailEnd -= 6;
            int b = trail[trailEnd];
            switch (trail[trailEnd + 4]) {
                case EARLIEST -> {
                    mixIn(b, -1);
                    earliest[b] = trail[trailEnd + 1];
                    mixIn(b, 1);
                }
                case PLACED -> reopen(b);
                default -> {
                    int s = trail[trailEnd + 5];
                    makespan[s] = b;
                    level[s] = trail[trailEnd + 1];
                    lowestTop[s] = trail[trailEnd + 2];
                    ways[s] = trail[trailEnd + 3];
                }
            }
        }
    }

    private void reopen(int b) {
        for (int s : cover[b]) {
            open[s]++;
            total[s] += size[b];
        }
        cross(b, 1);
        mixIn(b, 1);
    }

    private void cross(int b, int by) {
        int last = cover[b][cover[b].length - 1];
        for (int s = cover[b][0] + 1; s <= last; s++) {
            crossing[s] += by;
        }
    }

    /** Adds a buffer with its earliest offset to the hashes of the section in which it begins, or takes it out. */
    private void mixIn(int b, int sign) {
        int s = cover[b][0];
        long mixed = RefutedParts.mix((long) b << 32 | earliest[b]);
        hash[s] += sign * mixed;
        hash2[s] += sign * RefutedParts.mix(mixed);
    }

    private void ensureChoices(int more) {
        if (choicesEnd + more > choices.length) {
            choices = Arrays.copyOf(choices, Math.max(choices.length * 2, choicesEnd + more));
        }
    }
}
