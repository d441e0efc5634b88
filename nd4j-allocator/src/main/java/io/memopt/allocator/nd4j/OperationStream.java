// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.nd4j.jita.allocator.impl.AtomicAllocator;

/** The CUDA stream on which ND4J launches operations. Loaded only when nd4j-cuda is there. Threading: any thread. */
final class OperationStream {
    private OperationStream() {}

    /** That of the calling thread, for the device that it works with. */
    static Pointer ofThread() {
        return AtomicAllocator.getInstance().getDeviceContext().getOldStream();
    }
}
