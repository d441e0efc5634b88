// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.AvailableMemory;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import java.util.OptionalLong;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * What a process may still take. On CUDA what the driver says is free on the current device; on CPU the least of what the machine
 * has available, what the control group allows and what JavaCPP's cap on physical memory allows, less what the Java heap may still
 * grow by. Threading: any.
 */
final class FreeMemory {
    private FreeMemory() {}

    /** Bytes, at least 0. */
    static long bytes() {
        return Nd4jFacts.isCuda()
                ? NativeOpsHolder.getInstance().getDeviceNativeOps().getDeviceFreeMemoryDefault()
                : host(
                        MemoryLimits.current().withJavacpp(Pointer.maxBytes(), Pointer.maxPhysicalBytes()),
                        ProcessMemory.now().residentBytes().orElse(0),
                        AvailableMemory.bytes(),
                        Runtime.getRuntime().maxMemory() - Runtime.getRuntime().totalMemory());
    }

    /**
     * The least of all limits.
     *
     * @param resident bytes of the process
     * @param available bytes that the machine says it has left
     * @param heapGrowth bytes that the Java heap may still take
     */
    static long host(MemoryLimits limits, long resident, OptionalLong available, long heapGrowth) {
        long free = available.orElse(limits.physicalBytes().orElse(Long.MAX_VALUE) - resident);
        free = Math.min(free, left(limits.containerBytes(), resident));
        free = Math.min(free, left(limits.javacppMaxPhysicalBytes(), resident));
        return Math.max(0, free - heapGrowth);
    }

    private static long left(OptionalLong limit, long resident) {
        return limit.isPresent() ? limit.getAsLong() - resident : Long.MAX_VALUE;
    }
}
