// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.cuCtxGetCurrent;
import static org.bytedeco.cuda.global.cudart.cuCtxPopCurrent;
import static org.bytedeco.cuda.global.cudart.cuCtxPushCurrent;
import static org.bytedeco.cuda.global.cudart.cuDeviceGet;
import static org.bytedeco.cuda.global.cudart.cuDeviceGetAttribute;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRetain;
import static org.bytedeco.cuda.global.cudart.cuDeviceTotalMem;
import static org.bytedeco.cuda.global.cudart.cuInit;

import java.util.function.Supplier;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.SizeTPointer;
import org.jspecify.annotations.Nullable;

/**
 * One device and the context that ND4J uses on it, too (its primary one). The context is kept until the JVM ends, as ND4J
 * keeps it.
 *
 * <p>Threading: safe; every call leaves the thread's current context as it was.
 */
final class CudaDevice {
    private final int number;
    private final int handle;
    private final CUctx_st context;

    /**
     * Device {@code number} as CUDA counts them.
     *
     * @throws io.memopt.allocator.pool.MemorySourceException if there is none, or no driver
     */
    CudaDevice(int number) {
        CudaDriver.check("cuInit", cuInit(0));
        int[] found = new int[1];
        CudaDriver.check("cuDeviceGet", cuDeviceGet(found, number));
        CUctx_st primary = new CUctx_st();
        CudaDriver.check("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(primary, found[0]));
        this.number = number;
        this.handle = found[0];
        this.context = primary;
    }

    int number() {
        return number;
    }

    /** Runs driver calls with this device's context current; where ND4J computes it is so already. */
    <T extends @Nullable Object> T call(Supplier<T> calls) {
        if (isCurrent()) {
            return calls.get();
        }
        CudaDriver.check("cuCtxPushCurrent", cuCtxPushCurrent(context));
        try {
            return calls.get();
        } finally {
            CudaDriver.check("cuCtxPopCurrent", cuCtxPopCurrent(new CUctx_st()));
        }
    }

    private boolean isCurrent() {
        CUctx_st current = new CUctx_st();
        CudaDriver.check("cuCtxGetCurrent", cuCtxGetCurrent(current));
        return current.address() == context.address();
    }

    void run(Runnable calls) {
        call(() -> {
            calls.run();
            return null;
        });
    }

    boolean mapsMemory() {
        return attribute(cudart.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
    }

    boolean hasPools() {
        return attribute(cudart.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
    }

    /** Memory of the device, in bytes. */
    long totalBytes() {
        try (SizeTPointer bytes = new SizeTPointer(1)) {
            CudaDriver.check("cuDeviceTotalMem", cuDeviceTotalMem(bytes, handle));
            return bytes.get();
        }
    }

    /** What the driver does not know, it does not support. */
    private int attribute(int attribute) {
        int[] value = new int[1];
        return cuDeviceGetAttribute(value, attribute, handle) == CudaDriver.SUCCESS ? value[0] : 0;
    }
}
