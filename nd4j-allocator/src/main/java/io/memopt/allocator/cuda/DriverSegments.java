// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.cuMemAlloc;
import static org.bytedeco.cuda.global.cudart.cuMemAllocAsync;
import static org.bytedeco.cuda.global.cudart.cuMemFree;
import static org.bytedeco.cuda.global.cudart.cuMemFreeAsync;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;

import io.memopt.allocator.pool.MemorySource;
import io.memopt.allocator.pool.SourceCalls;

/** Memory that comes with its addresses: from the driver's own pool where it has one, else as cudaMalloc gives it. */
final class DriverSegments implements MemorySource {
    private static final long PAGE = 2 << 20;

    private final CudaDevice device;
    private final boolean pooled;
    private final long deviceBytes;
    private volatile SourceCalls calls = new SourceCalls(0, 0, 0);

    /** {@code pooled}: from the driver's pool, which keeps what is given back until the next synchronisation. */
    DriverSegments(CudaDevice device, boolean pooled) {
        this.device = device;
        this.pooled = pooled;
        this.deviceBytes = device.totalBytes();
    }

    @Override
    public String name() {
        return pooled ? "cuda-async" : "cuda-malloc";
    }

    @Override
    public long pageBytes() {
        return PAGE;
    }

    @Override
    public long deviceBytes() {
        return deviceBytes;
    }

    /** Of the driver's pool, any stream may use the memory at once: the legacy stream, on which it is ordered, has got there. */
    @Override
    public long reserve(long bytes) {
        calls = calls.plus(new SourceCalls(1, 0, 0));
        long[] address = new long[1];
        return device.call(() -> {
            int result = pooled ? cuMemAllocAsync(address, bytes, null) : cuMemAlloc(address, bytes);
            if (!CudaDriver.obtained(pooled ? "cuMemAllocAsync" : "cuMemAlloc", result)) {
                return NONE;
            }
            synchronize();
            return address[0];
        });
    }

    @Override
    public void release(long address, long bytes) {
        calls = calls.plus(new SourceCalls(0, 0, 1));
        device.run(() -> {
            int result = pooled ? cuMemFreeAsync(address, null) : cuMemFree(address);
            CudaDriver.check(pooled ? "cuMemFreeAsync" : "cuMemFree", result);
            synchronize();
        });
    }

    private void synchronize() {
        if (pooled) {
            CudaDriver.check("cuStreamSynchronize", cuStreamSynchronize(null));
        }
    }

    @Override
    public SourceCalls calls() {
        return calls;
    }
}
