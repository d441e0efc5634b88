// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Seeded problems. */
final class RandomProblem {
    private RandomProblem() {}

    /** Up to seven buffers of up to four bytes, for {@link BruteForce}; with everything that a buffer can have. */
    static PlanProblem tiny(long seed) {
        Random random = new Random(seed);
        boolean extras = random.nextBoolean();
        PlanProblem.Builder builder = PlanProblem.builder();
        int count = random.nextInt(8);
        long fixedFloor = 0;
        for (int i = 0; i < count; i++) {
            long start = random.nextInt(6);
            long end = start + 1L + random.nextInt(5);
            int size = 1 + random.nextInt(4);
            builder.add(start, end, size);
            if (!extras) {
                continue;
            }
            switch (random.nextInt(6)) {
                case 0 -> builder.alignment(1 + random.nextInt(3));
                case 1 -> {
                    if (fixedFloor < 6) {
                        builder.fixedAt(fixedFloor);
                        fixedFloor += size;
                    }
                }
                case 2 -> {
                    if (end - start > 2) {
                        builder.gap(start + 1, end - 1);
                    }
                }
                case 3 -> builder.gap(start, start + 1, 0, random.nextInt(size + 1));
                default -> {}
            }
        }
        return builder.build();
    }

    /** Forward and backward: nested long lives that end in the opposite order, and short ones in between. */
    static PlanProblem training(int count, long seed) {
        Random random = new Random(seed);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < count; i++) {
            if (i % 3 == 0) {
                long start = random.nextInt(count);
                builder.add(start, 2L * count - start + random.nextInt(5), size(random));
            } else {
                long start = random.nextInt(2 * count);
                builder.add(start, start + 1L + random.nextInt(8), size(random));
            }
        }
        return builder.build();
    }

    /** Short lives that begin at random, about twenty at a time. */
    static PlanProblem shortLives(int count, long seed) {
        Random random = new Random(seed);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < count; i++) {
            long start = random.nextInt(count);
            builder.add(start, start + 1 + (long) (-Math.log(1 - random.nextDouble()) * 20), size(random));
        }
        return builder.build();
    }

    /** Lives between two random moments: a third of all buffers is live at the busiest one. */
    static PlanProblem uniform(int count, long seed) {
        Random random = new Random(seed);
        PlanProblem.Builder builder = PlanProblem.builder();
        for (int i = 0; i < count; i++) {
            long a = random.nextInt(2 * count);
            long b = random.nextInt(2 * count);
            builder.add(Math.min(a, b), Math.max(a, b) + 1, size(random));
        }
        return builder.build();
    }

    /** A rectangle cut into pieces: the lowest height is {@code height}, and no byte of it is free at any time. */
    static PlanProblem cut(int count, int height, long seed) {
        Random random = new Random(seed);
        List<long[]> pieces = new ArrayList<>();
        pieces.add(new long[] {0, 1000, height});
        while (pieces.size() < count) {
            long[] piece = pieces.get(random.nextInt(pieces.size()));
            if (random.nextBoolean() && piece[1] - piece[0] > 1) {
                long at = piece[0] + 1 + random.nextInt((int) (piece[1] - piece[0] - 1));
                pieces.add(new long[] {at, piece[1], piece[2]});
                piece[1] = at;
            } else if (piece[2] > 1) {
                long low = 1L + random.nextInt((int) piece[2] - 1);
                pieces.add(new long[] {piece[0], piece[1], piece[2] - low});
                piece[2] = low;
            }
        }
        Collections.shuffle(pieces, random);
        PlanProblem.Builder builder = PlanProblem.builder();
        pieces.forEach(piece -> builder.add(piece[0], piece[1], piece[2]));
        return builder.build();
    }

    private static long size(Random random) {
        return 32 * (1 + (long) Math.exp(random.nextDouble() * 10));
    }
}
