// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A problem without gaps and fixed offsets in small numbers: times are sections (see {@link SectionModel}), sizes are in
 * grains, and all offsets are multiples of a grain. A grain is a multiple of all alignments; where sizes have no such divisor,
 * or it would be too many grains to an int, sizes are rounded up.
 *
 * <p>Threading: immutable.
 */
final class StackModel {
    /** Sums of sizes stay below this many grains. */
    private static final long MOST_GRAINS = 1 << 29;

    final int count;
    final int sections;
    final long grain;
    /** First section of each buffer, and the one after its last; each buffer has one at least. */
    final int[] start;

    final int[] end;
    final int[] size;
    /** Most grains live at once. */
    final int lower;
    /** All buffers, the smallest product of size and lifetime first. */
    private final int[] byArea;

    private final long sum;

    private StackModel(Timeline time, long grain) {
        this.grain = grain;
        count = time.problem.count();
        start = new int[count];
        end = new int[count];
        size = new int[count];
        int[] ended = ended(time);
        sections = ended[time.moments - 1];
        for (int i = 0; i < count; i++) {
            start[i] = ended[time.birth(i)];
            end[i] = ended[time.death(i)];
            size[i] = (int) ((time.problem.size(i) + grain - 1) / grain);
        }
        sum = IntStream.of(size).asLongStream().sum();
        byArea = byArea();
        int most = 0;
        for (int grains : load(byArea)) {
            most = Math.max(most, grains);
        }
        lower = most;
    }

    /** The problem, or null when one alignment does not divide another, or all sizes together take too many bytes. */
    static @Nullable StackModel of(Timeline time) {
        PlanProblem problem = time.problem;
        long alignment = 1;
        long divisor = 0;
        long sum = 0;
        for (int i = 0; i < problem.count(); i++) {
            alignment = Math.max(alignment, problem.alignment(i));
            divisor = LowerBound.gcd(divisor, problem.size(i));
            sum += problem.size(i);
        }
        for (int i = 0; i < problem.count(); i++) {
            if (alignment % problem.alignment(i) != 0) {
                return null;
            }
        }
        long grain = divisor % alignment == 0 ? divisor : alignment;
        // Rounding adds up to one grain for each buffer.
        long coarser = (sum / grain + problem.count()) / MOST_GRAINS + 1;
        return new StackModel(time, grain * coarser);
    }

    private int[] byArea() {
        long[] keys = new long[count];
        for (int i = 0; i < count; i++) {
            // Order is all that matters: floats of positive numbers are ordered as their bits are.
            keys[i] = (long) Float.floatToIntBits((float) size[i] * (end[i] - start[i])) << 32 | i;
        }
        return LongStream.of(keys).sorted().mapToInt(key -> (int) key).toArray();
    }

    /** All buffers but those of the smallest areas, as many as have together a share of all grains, 0 to 1. */
    int[] allBut(double share) {
        long left = (long) (share * sum);
        int small = 0;
        while (small < count - 1 && size[byArea[small]] <= left) {
            left -= size[byArea[small++]];
        }
        return Arrays.copyOfRange(byArea, small, count);
    }

    /** How many sections have ended by each moment: one for each death that follows a birth. */
    private static int[] ended(Timeline time) {
        boolean[] births = new boolean[time.moments];
        boolean[] deaths = new boolean[time.moments];
        for (int i = 0; i < time.problem.count(); i++) {
            births[time.birth(i)] = true;
            deaths[time.death(i)] = true;
        }
        int[] ended = new int[time.moments];
        boolean born = births[0];
        for (int moment = 1; moment < time.moments; moment++) {
            boolean ends = born && deaths[moment];
            ended[moment] = ended[moment - 1] + (ends ? 1 : 0);
            born = births[moment] || (born && !ends);
        }
        return ended;
    }

    /** Grains that some of the buffers need in each section. */
    int[] load(int[] buffers) {
        int[] load = new int[sections + 1];
        for (int i : buffers) {
            load[start[i]] += size[i];
            load[end[i]] -= size[i];
        }
        for (int s = 1; s <= sections; s++) {
            load[s] += load[s - 1];
        }
        return load;
    }
}
