// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Checks plans. Shares nothing with the planners: it walks through time and keeps the occupied addresses in order.
 *
 * <p>Cost: O(n log n) for n buffers and gaps.
 */
public final class PlanValidator {
    private final PlanProblem problem;
    private final long[] offsets;

    private PlanValidator(PlanProblem problem, long[] offsets) {
        this.problem = problem;
        this.offsets = offsets;
    }

    /**
     * Checks all rules.
     *
     * @return the height, i.e. the largest offset plus size
     * @throws IllegalArgumentException naming the first buffers that break one
     */
    public static long validate(PlanProblem problem, long[] offsets) {
        if (offsets.length != problem.count()) {
            throw new IllegalArgumentException(
                    offsets.length + " offsets for " + problem.count() + " buffers, expected as many");
        }
        PlanValidator validator = new PlanValidator(problem, offsets);
        long height = validator.eachByItself();
        validator.together();
        return height;
    }

    private long eachByItself() {
        long height = 0;
        for (int i = 0; i < offsets.length; i++) {
            long offset = offsets[i];
            if (offset < 0 || offset % problem.alignment(i) != 0) {
                throw new IllegalArgumentException("buffer " + i + ": offset=" + offset
                        + ", expected 0 or more and a multiple of alignment=" + problem.alignment(i));
            }
            if (problem.fixedOffset(i) != PlanProblem.FREE && problem.fixedOffset(i) != offset) {
                throw new IllegalArgumentException(
                        "buffer " + i + ": offset=" + offset + ", but it is fixed at " + problem.fixedOffset(i));
            }
            height = Math.max(height, Math.addExact(offset, problem.size(i)));
        }
        return height;
    }

    /** A stretch of one buffer's life in which it needs the same addresses {@code [low, high)}. */
    private record Stretch(int buffer, long start, long end, long low, long high) {}

    private void together() {
        List<Stretch> stretches = stretches();
        Stretch[] ending = stretches.toArray(Stretch[]::new);
        stretches.sort(Comparator.comparingLong(Stretch::start));
        Arrays.sort(ending, Comparator.comparingLong(Stretch::end));
        TreeMap<Long, Stretch> occupied = new TreeMap<>();
        int ended = 0;
        for (Stretch begun : stretches) {
            while (ending[ended].end <= begun.start) {
                occupied.remove(ending[ended++].low);
            }
            refuse(occupied.floorEntry(begun.low), begun);
            refuse(occupied.higherEntry(begun.low), begun);
            occupied.put(begun.low, begun);
        }
    }

    private static void refuse(Map.@org.jspecify.annotations.Nullable Entry<Long, Stretch> neighbour, Stretch begun) {
        if (neighbour != null && neighbour.getValue().low < begun.high && begun.low < neighbour.getValue().high) {
            Stretch other = neighbour.getValue();
            throw new IllegalArgumentException("buffers " + other.buffer + " and " + begun.buffer + " overlap: bytes ["
                    + other.low + ", " + other.high + ") and [" + begun.low + ", " + begun.high + ") at time "
                    + begun.start);
        }
    }

    private List<Stretch> stretches() {
        List<Stretch> all = new ArrayList<>(problem.count() + 2 * problem.gapCount());
        int gap = 0;
        for (int i = 0; i < problem.count(); i++) {
            long from = problem.start(i);
            for (; gap < problem.gapCount() && problem.gapBuffer(gap) == i; gap++) {
                add(all, i, from, problem.gapStart(gap), 0, problem.size(i));
                add(all, i, problem.gapStart(gap), problem.gapEnd(gap), problem.gapLow(gap), problem.gapHigh(gap));
                from = problem.gapEnd(gap);
            }
            add(all, i, from, problem.end(i), 0, problem.size(i));
        }
        return all;
    }

    private void add(List<Stretch> all, int buffer, long start, long end, long low, long high) {
        if (start < end && low < high) {
            all.add(new Stretch(buffer, start, end, offsets[buffer] + low, offsets[buffer] + high));
        }
    }
}
