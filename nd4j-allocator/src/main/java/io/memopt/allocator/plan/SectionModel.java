// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A problem as the search sees it: the moments that matter, and which buffers are live at each.
 *
 * <p>A section is a set of buffers that are live together and that no other such set contains: a stretch of time that begins
 * after a death and ends before the next one that follows a birth. Two buffers must not overlap exactly if some section has
 * both. Sizes are in units of the largest number that divides all sizes, alignments and fixed offsets, so that they fit an
 * int.
 *
 * <pre>
 *   a ========            sections: {a, b}, {b, c}
 *   b     ============    the time when only a, only b or only c is live adds nothing
 *   c             ======
 * </pre>
 */
final class SectionModel {
    /** Heights, in units, beyond which sums of two could overflow. */
    private static final long MOST_UNITS = 1 << 29;

    /** Entries of all sections together beyond which one decision of the search would take too long. */
    private static final long MOST_ENTRIES = 1 << 20;

    final long unit;
    final int count;
    final int sections;
    final int[] size;
    final int[] alignment;
    /** Offset in units, or -1. */
    final int[] fixed;
    /** Sections of each buffer, ascending. */
    final int[][] cover;
    /** Equal for buffers that can be exchanged for each other. */
    final int[] twin;
    /** Largest load of the sections of each buffer, in units. */
    final int[] busiest;
    /** Which buffers of the problem each of the model's stands for. */
    private final int[][] originals;

    private SectionModel(long unit, int[] size, int[] alignment, int[] fixed, int[][] cover, int[][] originals) {
        this.unit = unit;
        this.count = size.length;
        this.size = size;
        this.alignment = alignment;
        this.fixed = fixed;
        this.cover = cover;
        this.originals = originals;
        sections = reduce(cover);
        twin = twins();
        busiest = busiest();
    }

    /**
     * Whether the search can deal with the problem at all.
     *
     * @param height bytes of a plan that it is to improve
     */
    static boolean fits(Timeline time, long height) {
        if (time.windowed || height / unitOf(time.problem) >= MOST_UNITS) {
            return false;
        }
        // An upper bound: sections are at most half of the moments.
        long entries = 0;
        for (int i = 0; i < time.pieces; i++) {
            entries += time.to[i] - time.from[i];
        }
        return entries / 2 < MOST_ENTRIES;
    }

    static SectionModel of(Timeline time) {
        PlanProblem problem = time.problem;
        int count = problem.count();
        long unit = unitOf(problem);
        int[] size = new int[count];
        int[] alignment = new int[count];
        int[] fixed = new int[count];
        int[][] cover = new int[count][];
        int[][] originals = new int[count][];
        for (int i = 0; i < count; i++) {
            size[i] = (int) (problem.size(i) / unit);
            alignment[i] = (int) (problem.alignment(i) / unit);
            fixed[i] = problem.fixedOffset(i) == PlanProblem.FREE ? -1 : (int) (problem.fixedOffset(i) / unit);
            originals[i] = new int[] {i};
            int length = 0;
            for (int piece = time.firstPiece[i]; piece < time.firstPiece[i + 1]; piece++) {
                length += time.to[piece] - time.from[piece];
            }
            cover[i] = new int[length];
            int at = 0;
            for (int piece = time.firstPiece[i]; piece < time.firstPiece[i + 1]; piece++) {
                for (int moment = time.from[piece]; moment < time.to[piece]; moment++) {
                    cover[i][at++] = moment;
                }
            }
        }
        return new SectionModel(unit, size, alignment, fixed, cover, originals);
    }

    /** Alignments are part of the unit only where some buffer has one, or nothing would have a unit. */
    private static long unitOf(PlanProblem problem) {
        long unit = 0;
        long alignments = 0;
        boolean aligned = false;
        for (int i = 0; i < problem.count(); i++) {
            unit = LowerBound.gcd(unit, problem.size(i));
            alignments = LowerBound.gcd(alignments, problem.alignment(i));
            aligned |= problem.alignment(i) > 1;
            if (problem.fixedOffset(i) != PlanProblem.FREE) {
                unit = LowerBound.gcd(unit, problem.fixedOffset(i));
            }
        }
        return aligned ? LowerBound.gcd(unit, alignments) : Math.max(1, unit);
    }

    /**
     * The same with the simplest chains made one buffer: where between two sections one buffer ends and one of the same size
     * begins, the second takes the place of the first. That costs the optimum now and then, and makes the search much
     * easier: what it finds is valid, what it refutes is not refuted for the problem itself.
     */
    SectionModel chained() {
        SectionModel model = this;
        while (true) {
            SectionModel shorter = model.chainedOnce();
            if (shorter.count == model.count) {
                return model;
            }
            model = shorter;
        }
    }

    private SectionModel chainedOnce() {
        int[] next = new int[count];
        boolean[] follows = new boolean[count];
        link(next, follows);
        List<Integer> heads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            if (!follows[i]) {
                heads.add(i);
            }
        }
        int[] sizes = heads.stream().mapToInt(i -> size[i]).toArray();
        int[] alignments = heads.stream().mapToInt(i -> alignment[i]).toArray();
        int[] offsets = heads.stream().mapToInt(i -> fixed[i]).toArray();
        int[][] covers = new int[sizes.length][];
        int[][] stands = new int[sizes.length][];
        for (int k = 0; k < sizes.length; k++) {
            int head = heads.get(k);
            covers[k] = cover[head].clone();
            stands[k] = originals[head];
            for (int link = next[head]; link >= 0; link = next[link]) {
                covers[k] = joined(covers[k], cover[link]);
                stands[k] = joined(stands[k], originals[link]);
            }
        }
        return new SectionModel(unit, sizes, alignments, offsets, covers, stands);
    }

    private void link(int[] next, boolean[] follows) {
        int[] ending = new int[sections + 1];
        int[] beginning = new int[sections + 1];
        int[] ends = new int[sections + 1];
        int[] begins = new int[sections + 1];
        Arrays.fill(next, -1);
        for (int i = 0; i < count; i++) {
            if (cover[i].length > 0) {
                int begin = cover[i][0];
                int end = cover[i][cover[i].length - 1] + 1;
                ends[end]++;
                ending[end] = i;
                begins[begin]++;
                beginning[begin] = i;
            }
        }
        for (int s = 1; s < sections; s++) {
            int first = ending[s];
            int second = beginning[s];
            if (ends[s] == 1
                    && begins[s] == 1
                    && size[first] == size[second]
                    && alignment[first] == alignment[second]
                    && fixed[first] < 0
                    && fixed[second] < 0) {
                next[first] = second;
                follows[second] = true;
            }
        }
    }

    private static int[] joined(int[] a, int[] b) {
        int[] both = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    /** Drops what is contained in a neighbour, numbers the rest from 0, and returns how many there are. */
    private static int reduce(int[][] cover) {
        int moments = 0;
        for (int[] each : cover) {
            moments = Math.max(moments, each.length == 0 ? 0 : each[each.length - 1] + 1);
        }
        boolean[] births = new boolean[moments + 1];
        boolean[] deaths = new boolean[moments + 1];
        for (int[] each : cover) {
            for (int k = 0; k < each.length; k++) {
                births[each[k]] |= k == 0 || each[k - 1] < each[k] - 1;
                deaths[each[k] + 1] |= k == each.length - 1 || each[k + 1] > each[k] + 1;
            }
        }
        int[] number = new int[moments];
        boolean[] kept = new boolean[moments];
        int sections = 0;
        boolean born = false;
        for (int moment = 0; moment < moments; moment++) {
            born |= births[moment];
            // The last moment before a death, if somebody was born since the death before.
            kept[moment] = born && deaths[moment + 1];
            number[moment] = sections;
            if (kept[moment]) {
                sections++;
                born = false;
            }
        }
        for (int i = 0; i < cover.length; i++) {
            cover[i] = Arrays.stream(cover[i])
                    .filter(moment -> kept[moment])
                    .map(moment -> number[moment])
                    .toArray();
        }
        return sections;
    }

    private int[] twins() {
        record Kind(int size, int alignment, int fixed, IntBuffer cover) {}
        Map<Kind, Integer> kinds = new HashMap<>();
        int[] twins = new int[count];
        for (int i = 0; i < count; i++) {
            Kind kind = new Kind(size[i], alignment[i], fixed[i], IntBuffer.wrap(cover[i]));
            twins[i] = kinds.computeIfAbsent(kind, k -> kinds.size());
        }
        return twins;
    }

    private int[] busiest() {
        int[] load = new int[sections];
        for (int i = 0; i < count; i++) {
            for (int s : cover[i]) {
                load[s] += size[i];
            }
        }
        int[] most = new int[count];
        for (int i = 0; i < count; i++) {
            for (int s : cover[i]) {
                most[i] = Math.max(most[i], load[s]);
            }
        }
        return most;
    }

    /** Offsets of the problem's buffers in bytes from those of the model's in units. */
    long[] expand(int[] offsets, int buffers) {
        long[] bytes = new long[buffers];
        for (int i = 0; i < count; i++) {
            for (int original : originals[i]) {
                bytes[original] = offsets[i] * unit;
            }
        }
        return bytes;
    }
}
