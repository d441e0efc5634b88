// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
import static org.bytedeco.cuda.global.cudart.CU_MEM_ALLOCATION_TYPE_PINNED;
import static org.bytedeco.cuda.global.cudart.CU_MEM_ALLOC_GRANULARITY_MINIMUM;
import static org.bytedeco.cuda.global.cudart.CU_MEM_LOCATION_TYPE_DEVICE;
import static org.bytedeco.cuda.global.cudart.cuMemAddressFree;
import static org.bytedeco.cuda.global.cudart.cuMemAddressReserve;
import static org.bytedeco.cuda.global.cudart.cuMemCreate;
import static org.bytedeco.cuda.global.cudart.cuMemGetAllocationGranularity;
import static org.bytedeco.cuda.global.cudart.cuMemMap;
import static org.bytedeco.cuda.global.cudart.cuMemRelease;
import static org.bytedeco.cuda.global.cudart.cuMemSetAccess;
import static org.bytedeco.cuda.global.cudart.cuMemUnmap;

import io.memopt.allocator.pool.Extent;
import io.memopt.allocator.pool.MemorySource;
import io.memopt.allocator.pool.MemorySourceException;
import io.memopt.allocator.pool.SourceCalls;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.cudart.CUmemAccessDesc_v1;
import org.bytedeco.cuda.cudart.CUmemAllocationProp_v1;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.jspecify.annotations.Nullable;

/** Pages by CUDA's virtual memory management: addresses and memory apart. */
final class MappedPages implements MemorySource {
    private static final long MIN_PAGE = 2 << 20;

    private final CudaDevice device;
    private final CUmemAllocationProp_v1 properties = new CUmemAllocationProp_v1();
    private final CUmemAccessDesc_v1 access = new CUmemAccessDesc_v1();
    private final long pageBytes;
    private final long deviceBytes;
    private volatile SourceCalls calls = new SourceCalls(0, 0, 0);

    MappedPages(CudaDevice device) {
        this(device, MIN_PAGE);
    }

    /** {@code leastBytes}: a power of two; pages are larger where the device has no such ones. */
    MappedPages(CudaDevice device, long leastBytes) {
        this.device = device;
        Pointer.memset(properties, 0, properties.sizeof());
        properties.type(CU_MEM_ALLOCATION_TYPE_PINNED);
        properties.location().type(CU_MEM_LOCATION_TYPE_DEVICE).id(device.number());
        Pointer.memset(access, 0, access.sizeof());
        access.location().type(CU_MEM_LOCATION_TYPE_DEVICE).id(device.number());
        access.flags(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        this.pageBytes = Math.max(leastBytes, device.call(this::granularity));
        this.deviceBytes = device.totalBytes();
    }

    private long granularity() {
        try (SizeTPointer bytes = new SizeTPointer(1)) {
            CudaDriver.check(
                    "cuMemGetAllocationGranularity",
                    cuMemGetAllocationGranularity(bytes, properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
            return bytes.get();
        }
    }

    @Override
    public String name() {
        return "cuda-vmm";
    }

    @Override
    public boolean mapsPages() {
        return true;
    }

    @Override
    public long pageBytes() {
        return pageBytes;
    }

    @Override
    public long deviceBytes() {
        return deviceBytes;
    }

    @Override
    public long reserve(long bytes) {
        count(1, 0, 0);
        long[] address = new long[1];
        return device.call(
                () -> CudaDriver.obtained("cuMemAddressReserve", cuMemAddressReserve(address, bytes, pageBytes, 0, 0))
                        ? address[0]
                        : NONE);
    }

    @Override
    public void release(long address, long bytes) {
        count(0, 0, 1);
        device.run(() -> CudaDriver.check("cuMemAddressFree", cuMemAddressFree(address, bytes)));
    }

    @Override
    public @Nullable Extent createExtent(int pages) {
        count(1, 0, 0);
        long[] handle = new long[1];
        return device.call(
                () -> CudaDriver.obtained("cuMemCreate", cuMemCreate(handle, pages * pageBytes, properties, 0))
                        ? new Extent(handle[0], pages)
                        : null);
    }

    @Override
    public void destroyExtent(Extent extent) {
        count(0, 0, 1);
        device.run(() -> CudaDriver.check("cuMemRelease", cuMemRelease(extent.handle())));
    }

    @Override
    public void map(long address, List<Extent> extents) {
        count(0, extents.size() + 1, 0);
        device.run(() -> {
            List<Extent> done = new ArrayList<>();
            try {
                long next = address;
                for (Extent extent : extents) {
                    int result = cuMemMap(next, bytes(extent), 0, extent.handle(), 0);
                    if (result != CudaDriver.SUCCESS) {
                        CudaDriver.check("cuMemMap of " + extent + " at address " + next, result);
                    }
                    done.add(extent);
                    next += bytes(extent);
                }
                CudaDriver.check("cuMemSetAccess", cuMemSetAccess(address, next - address, access, 1));
            } catch (MemorySourceException e) {
                takeBack(address, done);
                throw e;
            }
        });
    }

    /** Undoes what was mapped before something else could not be; the first failure is the one to tell. */
    private void takeBack(long address, List<Extent> extents) {
        long next = address;
        for (Extent extent : extents) {
            cuMemUnmap(next, bytes(extent));
            next += bytes(extent);
        }
    }

    @Override
    public void unmap(long address, List<Extent> extents) {
        count(0, extents.size(), 0);
        device.run(() -> {
            long next = address;
            for (Extent extent : extents) {
                CudaDriver.check("cuMemUnmap", cuMemUnmap(next, bytes(extent)));
                next += bytes(extent);
            }
        });
    }

    private long bytes(Extent extent) {
        return extent.pages() * pageBytes;
    }

    @Override
    public SourceCalls calls() {
        return calls;
    }

    /** Only the pool's thread writes. */
    private void count(long obtained, long mapped, long returned) {
        calls = calls.plus(new SourceCalls(obtained, mapped, returned));
    }
}
