// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.cuDeviceGetPCIBusId;
import static org.bytedeco.cuda.global.nvml.nvmlDeviceGetComputeRunningProcesses_v2;
import static org.bytedeco.cuda.global.nvml.nvmlDeviceGetHandleByPciBusId_v2;
import static org.bytedeco.cuda.global.nvml.nvmlDeviceGetMemoryInfo;
import static org.bytedeco.cuda.global.nvml.nvmlErrorString;
import static org.bytedeco.cuda.global.nvml.nvmlInit_v2;

import io.memopt.allocator.pool.DeviceUsage;
import io.memopt.allocator.pool.MemorySourceException;
import java.util.OptionalLong;
import org.bytedeco.cuda.nvml.nvmlDevice_st;
import org.bytedeco.cuda.nvml.nvmlMemory_t;
import org.bytedeco.cuda.nvml.nvmlProcessInfo_v2_t;
import org.bytedeco.javacpp.BytePointer;

/** NVIDIA's management library, as nvidia-smi asks it. Initialised once and kept to the end of the JVM. */
final class Nvml {
    private static final int SUCCESS = 0;
    private static final int BUS_ID_BYTES = 32;
    private static final int MOST_PROCESSES = 256;

    private Nvml() {}

    /** Initialises at the first use. */
    private static final class Library {
        static final int STATE = nvmlInit_v2();

        private Library() {}
    }

    /**
     * Figures of a device.
     *
     * @param device number as CUDA counts the devices of this process
     * @throws MemorySourceException if the library does not know it
     */
    static DeviceUsage usage(int device) {
        check("nvmlInit_v2", Library.STATE);
        nvmlDevice_st handle = handle(device);
        try (nvmlMemory_t memory = new nvmlMemory_t()) {
            check("nvmlDeviceGetMemoryInfo", nvmlDeviceGetMemoryInfo(handle, memory));
            return new DeviceUsage(memory.total(), memory.used(), own(handle));
        }
    }

    /** The management library counts all devices of the machine, CUDA those that the process may see. */
    private static nvmlDevice_st handle(int device) {
        try (BytePointer bus = new BytePointer(BUS_ID_BYTES)) {
            CudaDriver.check("cuDeviceGetPCIBusId", cuDeviceGetPCIBusId(bus, BUS_ID_BYTES, device));
            nvmlDevice_st handle = new nvmlDevice_st();
            check("nvmlDeviceGetHandleByPciBusId_v2", nvmlDeviceGetHandleByPciBusId_v2(bus, handle));
            return handle;
        }
    }

    /** Empty where the library does not list this process, e.g. because it runs in a container with numbers of its own. */
    private static OptionalLong own(nvmlDevice_st handle) {
        try (nvmlProcessInfo_v2_t processes = new nvmlProcessInfo_v2_t(MOST_PROCESSES)) {
            int[] count = {MOST_PROCESSES};
            if (nvmlDeviceGetComputeRunningProcesses_v2(handle, count, processes) != SUCCESS) {
                return OptionalLong.empty();
            }
            long pid = ProcessHandle.current().pid();
            for (int i = 0; i < count[0]; i++) {
                nvmlProcessInfo_v2_t process = processes.getPointer(i);
                if (process.pid() == pid && process.usedGpuMemory() > 0) {
                    return OptionalLong.of(process.usedGpuMemory());
                }
            }
            return OptionalLong.empty();
        }
    }

    private static void check(String call, int result) {
        if (result != SUCCESS) {
            throw new MemorySourceException(
                    call + " failed: " + nvmlErrorString(result).getString() + " (" + result + ")");
        }
    }
}
