// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.convolution;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Folds the unfolded gradient of an input, {@code [taps, positions]} in f order, by a few examples at a time, each time after a copy to c
 * order, from which ND4J folds as Deeplearning4j has it. Examples do not meet in a sum, so that no bit depends on how many go together.
 *
 * <p>The copy has the same size whatever the batch, so that plans for one batch follow from those for others; the last examples of a
 * batch that it does not divide are folded once more, into the same numbers.
 */
final class FoldedByExamples {
    /** Bytes of a copy that are worth its three native calls, some ten microseconds. */
    private static final long WORTHWHILE = 1 << 17;
    /** Of one, ND4J takes the strides to be those of a dense array, and folds another way. */
    private static final long LEAST = 2;

    private final Geometry sizes;
    private final INDArray product;
    private final INDArray room;
    private final long count;

    /** @param product {@code [taps, positions]}, f order */
    FoldedByExamples(Geometry sizes, INDArray product) {
        long elements = sizes.taps() * sizes.perExample();
        long examples =
                Math.max(LEAST, WORTHWHILE / (elements * product.dataType().width()));
        this.sizes = sizes;
        this.product = product;
        this.count = Math.min(examples, sizes.batch());
        this.room = Nd4j.createUninitialized(product.dataType(), elements * examples)
                .get(NDArrayIndex.interval(0, elements * count))
                .reshape('c', sizes.taps(), sizes.perExample() * count);
    }

    /** @param into {@code [batch, channels, inHeight, inWidth]} */
    void into(INDArray into) {
        for (long begin = 0; begin < sizes.batch(); begin += count) {
            some(Math.min(begin, sizes.batch() - count), into);
        }
    }

    private void some(long first, INDArray into) {
        INDArrayIndex all = NDArrayIndex.all();
        INDArrayIndex places = NDArrayIndex.interval(first * sizes.perExample(), (first + count) * sizes.perExample());
        room.assign(product.get(all, places));
        long[] shape = {sizes.width(), sizes.height(), sizes.channels(), sizes.outWidth(), sizes.outHeight(), count};
        INDArray columns = Shape.newShapeNoCopy(room, shape, true).permute(5, 2, 1, 0, 4, 3);
        sizes.fold(columns, into.get(NDArrayIndex.interval(first, first + count), all, all, all));
    }
}
