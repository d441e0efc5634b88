// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Where arrays lie that something else than an operation reads or writes. Threading: safe. */
public final class ArrayPlace {
    private ArrayPlace() {}

    /** Address of the first element of {@code array} where operations work on it: on the device, with CUDA. Counts as a use of it. */
    public static long of(INDArray array) {
        return Nd4jFacts.isCuda()
                ? DevicePlace.of(array)
                : array.data().addressPointer().address();
    }

    /** From here on what lies at {@link #of} is what {@code array} holds, whatever its place on the host does. */
    public static void written(INDArray array) {
        written(array.data());
    }

    static void written(DataBuffer buffer) {
        if (Nd4jFacts.isCuda()) {
            DevicePlace.written(buffer);
        }
    }
}
