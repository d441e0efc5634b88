// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import java.util.Arrays;
import java.util.List;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * How a dense array lies in memory.
 *
 * @param order as ND4J names it
 */
record Form(DataType type, List<Long> shape, List<Long> strides, char order) {

    static Form of(INDArray array) {
        return new Form(array.dataType(), list(array.shape()), list(array.stride()), array.ordering());
    }

    private static List<Long> list(long[] values) {
        return Arrays.stream(values).boxed().toList();
    }

    private static long[] array(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    /** An array of this form at the begin of {@code buffer}. */
    INDArray in(DataBuffer buffer) {
        return Nd4j.create(buffer, array(shape), array(strides), 0, order);
    }

    long elements() {
        return shape.stream().reduce(1L, Math::multiplyExact);
    }

    long bytes() {
        return elements() * type.width();
    }
}
