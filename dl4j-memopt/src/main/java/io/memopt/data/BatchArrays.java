// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The arrays of a kind of batch: features, labels, masks. Threading: stateless. */
interface BatchArrays<T> {

    /** Puts what {@code change} makes of it in the place of each array; absent arrays are left out. */
    void replace(T batch, UnaryOperator<INDArray> change);

    /** Shows every array to {@code reader}. */
    default void forEach(T batch, Consumer<INDArray> reader) {
        replace(batch, array -> {
            reader.accept(array);
            return array;
        });
    }

    /** Bytes of the elements of all arrays. */
    default long bytes(T batch) {
        long[] sum = {0};
        forEach(
                batch,
                array -> sum[0] +=
                        array.isS() ? 0 : array.length() * array.dataType().width());
        return sum[0];
    }

    /** The arrays live on when the workspaces of the calling thread end. */
    default void detach(T batch) {
        replace(batch, array -> array.isAttached() ? array.detach() : array);
    }

    /** {@code change} of an array that may be absent. */
    static @Nullable INDArray changed(@Nullable INDArray array, UnaryOperator<INDArray> change) {
        return array == null ? null : change.apply(array);
    }
}
