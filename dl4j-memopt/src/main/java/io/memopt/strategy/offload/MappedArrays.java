// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.MappedBuffers;
import java.nio.file.Path;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Copies of arrays in mapped files, with the same strides. Threading: safe. */
final class MappedArrays {
    private MappedArrays() {}

    /**
     * A copy of {@code array}, which is dense, in a file of its own in {@code folder}.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     */
    static INDArray copyOf(INDArray array, Path folder) {
        return copyInto(MappedBuffers.create(array.dataType(), array.length(), folder), array);
    }

    /** A copy of {@code array}, which is dense, at the begin of {@code buffer}. */
    static INDArray copyInto(DataBuffer buffer, INDArray array) {
        INDArray mapped = Nd4j.create(buffer, array.shape(), array.stride(), 0, array.ordering());
        mapped.assign(array);
        return mapped;
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
