// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** {@link ArrayPlace} on CUDA. Loaded only when nd4j-cuda is there. */
final class DevicePlace {
    private DevicePlace() {}

    static long of(INDArray array) {
        AtomicAllocator allocator = AtomicAllocator.getInstance();
        return allocator.getPointer(array, allocator.getDeviceContext()).address();
    }

    static void written(DataBuffer buffer) {
        AtomicAllocator.getInstance().getAllocationPoint(buffer).tickDeviceWrite();
    }
}
