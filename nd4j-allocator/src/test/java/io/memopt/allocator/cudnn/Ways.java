// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Generated ways and tables, and the shape that tests use. */
final class Ways {
    static final ConvolutionShape SHAPE = new ConvolutionShape(8, 4, 10, 12, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1);

    private Ways() {}

    static ConvolutionAlgorithm way(int id, long scratchBytes, long nanos) {
        return new ConvolutionAlgorithm(id, ConvolutionMath.FMA, 1, scratchBytes, nanos);
    }

    static AlgorithmTable table(ConvolutionAlgorithm... ways) {
        return new AlgorithmTable(1000, true, List.of(ways));
    }

    /** Up to {@code most} ways with small numbers, so that ties are common; at times none. */
    static AlgorithmTable random(Random random, int most) {
        List<ConvolutionAlgorithm> ways = new ArrayList<>();
        for (int i = random.nextInt(most + 1); i > 0; i--) {
            ways.add(way(i, random.nextInt(6), random.nextInt(8)));
        }
        return new AlgorithmTable(1000, true, ways);
    }
}
