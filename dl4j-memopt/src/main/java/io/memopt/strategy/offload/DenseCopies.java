// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Copies of arrays in other buffers, with the same strides. Threading: safe. */
final class DenseCopies {
    private DenseCopies() {}

    /** A copy of {@code array}, which is dense, at the begin of {@code buffer}. */
    static INDArray copyInto(DataBuffer buffer, INDArray array) {
        INDArray copy = Nd4j.create(buffer, array.shape(), array.stride(), 0, array.ordering());
        copy.assign(array);
        return copy;
    }

    /** Whether the elements of {@code array} leave no gaps in memory. */
    static boolean isDense(INDArray array) {
        long reach = 1;
        for (int i = 0; i < array.rank(); i++) {
            reach += (array.size(i) - 1) * array.stride(i);
        }
        return reach == array.length();
    }
}
