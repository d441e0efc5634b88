// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Problems of the kind of another one, made from a plan of it, so that the height that is possible is known. Each way of
 * change takes the plan along: what it does to offsets and lifetimes never makes two buffers meet.
 */
final class Kin {
    /** A problem and a height of which there is a plan. */
    static final class Known {
        private final PlanProblem problem;
        private final long height;
        private final long[] offsets;

        private Known(PlanProblem problem, long height, long[] offsets) {
            this.problem = problem;
            this.height = height;
            this.offsets = offsets;
        }

        PlanProblem problem() {
            return problem;
        }

        long height() {
            return height;
        }

        /** Of the plan that is known. */
        long[] offsets() {
            return offsets;
        }
    }

    /** How a problem differs from its base. */
    enum Change {
        /** Addresses are stretched here and pressed there, to whole units: sizes change by up to a third. */
        SIZES,
        /** Lives end up to a tenth sooner, or last until their place is needed. */
        TIMES,
        /** One buffer in ten is gone. */
        FEWER,
        /** One in ten is two: one above the other, or one after the other. */
        CUT,
        /** All of these. */
        ALL
    }

    private static final long UNIT = 512;

    private Kin() {}

    /** A relative of {@code base}, of whose {@code offsets} {@code height} is the height. */
    static Known of(PlanProblem base, long[] offsets, long height, Change change, long seed) {
        Random random = new Random(seed);
        int count = base.count();
        long[][] boxes = new long[count][];
        for (int i = 0; i < count; i++) {
            boxes[i] = new long[] {base.start(i), base.end(i), offsets[i], offsets[i] + base.size(i)};
        }
        if (change == Change.SIZES || change == Change.ALL) {
            stretch(boxes, height, random);
        }
        if (change == Change.CUT || change == Change.ALL) {
            boxes = cut(boxes, random);
        }
        if (change == Change.FEWER || change == Change.ALL) {
            boxes = without(boxes, random);
        }
        if (change == Change.TIMES || change == Change.ALL) {
            shift(boxes, random);
        }
        return known(boxes);
    }

    /** Moves addresses by a function that grows everywhere, by 2/3 to 4/3 of a unit for each unit of each sixteenth. */
    private static void stretch(long[][] boxes, long height, Random random) {
        int pieces = 16;
        double[] image = new double[pieces + 1];
        for (int k = 0; k < pieces; k++) {
            image[k + 1] = image[k] + (2 + 2 * random.nextDouble()) / 3;
        }
        for (long[] box : boxes) {
            for (int side = 2; side < 4; side++) {
                double at = (double) box[side] * pieces / height;
                int piece = Math.min(pieces - 1, (int) at);
                double moved = image[piece] + (at - piece) * (image[piece + 1] - image[piece]);
                box[side] = Math.round(moved * height / pieces / UNIT) * UNIT;
            }
            // Rounding may leave nothing; such a buffer is dropped by known().
        }
    }

    private static long[][] cut(long[][] boxes, Random random) {
        List<long[]> pieces = new ArrayList<>();
        for (long[] box : boxes) {
            boolean once = random.nextInt(10) == 0;
            boolean above = random.nextBoolean();
            int from = above ? 2 : 0;
            long unit = above ? UNIT : 1;
            long units = (box[from + 1] - box[from]) / unit;
            pieces.add(box);
            if (once && units > 1) {
                long[] rest = box.clone();
                long at = box[from] + unit * (1 + random.nextInt((int) units - 1));
                box[from + 1] = at;
                rest[from] = at;
                pieces.add(rest);
            }
        }
        return pieces.toArray(new long[0][]);
    }

    private static long[][] without(long[][] boxes, Random random) {
        return Arrays.stream(boxes).filter(box -> random.nextInt(10) > 0).toArray(long[][]::new);
    }

    private static void shift(long[][] boxes, Random random) {
        for (long[] box : boxes) {
            long life = box[1] - box[0];
            long by = (long) (random.nextDouble() * life / 10);
            if (random.nextInt(3) == 0) {
                box[0] += Math.min(by, life - 1);
            } else if (random.nextBoolean()) {
                box[1] -= Math.min(by, life - 1);
            } else {
                box[1] = Math.min(box[1] + by, free(boxes, box));
            }
        }
    }

    /** Until when the place of a buffer is free after its end. */
    private static long free(long[][] boxes, long[] box) {
        long until = Long.MAX_VALUE;
        for (long[] other : boxes) {
            if (other != box && other[0] >= box[1] && other[2] < box[3] && box[2] < other[3]) {
                until = Math.min(until, other[0]);
            }
        }
        return until;
    }

    private static Known known(long[][] boxes) {
        PlanProblem.Builder builder = PlanProblem.builder();
        long[][] kept = Arrays.stream(boxes).filter(box -> box[3] > box[2]).toArray(long[][]::new);
        long[] offsets = new long[kept.length];
        long height = 0;
        for (int i = 0; i < kept.length; i++) {
            builder.add(kept[i][0], kept[i][1], kept[i][3] - kept[i][2]);
            offsets[i] = kept[i][2];
            height = Math.max(height, kept[i][3]);
        }
        return new Known(builder.build(), height, offsets);
    }
}
