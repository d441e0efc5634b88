// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;

/**
 * Which buffers are placed and how low the open ones can still lie, with everything that follows for the sections; each change
 * can be undone. The terms are those of {@link SectionSearch}, the only user; it reads the arrays and writes none.
 *
 * <p>Threading: confined. No allocation but for a longer trail.
 */
final class SectionState {
    private static final int NEVER = 1 << 30;

    /** Numbers of an entry of the trail. */
    private static final int ENTRY = 6;

    private static final int EARLIEST = 0;
    private static final int PLACED = 1;
    private static final int SECTION = 2;

    /** Offsets of the placed buffers, in units. */
    final int[] offsets;

    final int[] earliest;
    /** Open buffers of each section come first, in no fixed order, then the placed ones, last placed first. */
    final int[][] members;

    final int[] open;
    final int[] makespan;
    /** Valid for sections with open buffers, as are the two that follow. */
    final int[] level;

    final int[] lowestTop;
    /** Open buffers at the level. */
    final int[] ways;
    /** Open buffers that live both in a section and in the one before it. */
    final int[] crossing;
    /** Sums over the open buffers that begin in a section. */
    final long[] hash;

    final long[] hash2;

    private final SectionModel model;
    private final int capacity;
    private final int[][] cover;
    private final int[] size;
    private final int[] latest;
    private final int[] total;
    private final int[] queue;
    private final boolean[] queued;
    private int queueEnd;
    private int[] trail = new int[1 << 12];
    private int trailEnd;

    SectionState(SectionModel model, int capacity) {
        this.model = model;
        this.capacity = capacity;
        cover = model.cover;
        size = model.size;
        int sections = model.sections;
        earliest = new int[model.count];
        latest = new int[model.count];
        offsets = new int[model.count];
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

    /** Takes in the whole problem; false if it has no solution that obviously. */
    boolean begin() {
        for (int b = 0; b < model.count; b++) {
            if (earliest[b] > latest[b]) {
                return false;
            }
        }
        for (int s = 0; s < model.sections; s++) {
            enqueue(s);
        }
        return propagate();
    }

    /** What {@link #undo} takes to come back to here. */
    int mark() {
        return trailEnd;
    }

    /** Puts an open, flat buffer at its earliest offset; false if that cannot lead to a solution. */
    boolean place(int b) {
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

    /** Decides that none of some open, flat buffers lies at its earliest offset. */
    boolean postpone(int[] buffers, int first, int end) {
        for (int k = first; k < end; k++) {
            int b = buffers[k];
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
        if (trailEnd + ENTRY > trail.length) {
            trail = Arrays.copyOf(trail, trail.length * 2);
        }
        trail[trailEnd] = a;
        trail[trailEnd + 1] = b;
        trail[trailEnd + 2] = c;
        trail[trailEnd + 3] = d;
        trail[trailEnd + 4] = tag;
        trail[trailEnd + 5] = at;
        trailEnd += ENTRY;
    }

    /** Takes back everything since a mark. */
    void undo(int mark) {
        while (queueEnd > 0) {
            queued[queue[--queueEnd]] = false;
        }
        while (trailEnd > mark) {
            trailEnd -= ENTRY;
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
}
