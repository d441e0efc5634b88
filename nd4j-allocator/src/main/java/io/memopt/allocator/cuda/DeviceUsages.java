// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.cuDeviceGetCount;
import static org.bytedeco.cuda.global.cudart.cuInit;
import static org.bytedeco.cuda.global.cudart.cuMemGetInfo;

import io.memopt.allocator.pool.DeviceUsage;
import io.memopt.allocator.pool.MemorySourceException;
import java.util.OptionalLong;
import org.bytedeco.javacpp.SizeTPointer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks how much memory of the devices is in use: NVIDIA's management library, which also tells processes apart, and the driver
 * where that library is not there.
 *
 * <p>Threading: safe. A question takes some tens of microseconds for each device.
 */
public final class DeviceUsages {
    private static final Logger log = LoggerFactory.getLogger(DeviceUsages.class);
    private static volatile boolean withoutNvml;

    private DeviceUsages() {}

    /**
     * All devices of the process together.
     *
     * @throws MemorySourceException if there is no driver
     */
    public static DeviceUsage now() {
        CudaDriver.check("cuInit", cuInit(0));
        int[] count = new int[1];
        CudaDriver.check("cuDeviceGetCount", cuDeviceGetCount(count));
        DeviceUsage sum = DeviceUsage.NONE;
        for (int device = 0; device < count[0]; device++) {
            sum = sum.plus(of(device));
        }
        return sum;
    }

    private static DeviceUsage of(int device) {
        if (!withoutNvml) {
            try {
                return Nvml.usage(device);
            } catch (MemorySourceException | LinkageError e) {
                withoutNvml = true;
                log.info("Processes on the GPU are not told apart: {}", e.toString());
            }
        }
        return byDriver(device);
    }

    private static DeviceUsage byDriver(int device) {
        CudaDevice known = new CudaDevice(device);
        try (SizeTPointer free = new SizeTPointer(1);
                SizeTPointer total = new SizeTPointer(1)) {
            known.run(() -> CudaDriver.check("cuMemGetInfo", cuMemGetInfo(free, total)));
            return new DeviceUsage(total.get(), total.get() - free.get(), OptionalLong.empty());
        }
    }
}
