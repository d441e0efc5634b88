// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.cuGetErrorName;

import io.memopt.allocator.pool.MemorySourceException;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerPointer;

/** Results of driver calls. */
final class CudaDriver {
    static final int SUCCESS = cudart.CUDA_SUCCESS;
    static final int OUT_OF_MEMORY = cudart.CUDA_ERROR_OUT_OF_MEMORY;
    static final int NOT_READY = cudart.CUDA_ERROR_NOT_READY;

    private CudaDriver() {}

    /**
     * Passes on success.
     *
     * @throws MemorySourceException with the call and the driver's name of the error otherwise
     */
    static void check(String call, int result) {
        if (result != SUCCESS) {
            throw new MemorySourceException(call + " failed: " + name(result));
        }
    }

    /** As {@link #check}, but says of memory that there is none. */
    static boolean obtained(String call, int result) {
        if (result == OUT_OF_MEMORY) {
            return false;
        }
        check(call, result);
        return true;
    }

    private static String name(int result) {
        try (PointerPointer<BytePointer> text = new PointerPointer<>(1)) {
            return cuGetErrorName(result, text) == SUCCESS
                    ? text.get(BytePointer.class).getString() + " (" + result + ")"
                    : "error " + result;
        }
    }
}
