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

import io.memopt.allocator.pool.MemorySource;
import io.memopt.allocator.pool.MemorySourceException;
import io.memopt.allocator.pool.SourceCalls;
import org.bytedeco.cuda.cudart.CUmemAccessDesc_v1;
import org.bytedeco.cuda.cudart.CUmemAllocationProp_v1;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;

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
    public long createPage() {
        count(1, 0, 0);
        long[] handle = new long[1];
        return device.call(() ->
                CudaDriver.obtained("cuMemCreate", cuMemCreate(handle, pageBytes, properties, 0)) ? handle[0] : NONE);
    }

    @Override
    public void destroyPage(long handle) {
        count(0, 0, 1);
        device.run(() -> CudaDriver.check("cuMemRelease", cuMemRelease(handle)));
    }

    @Override
    public void map(long address, long[] handles) {
        count(0, handles.length + 1, 0);
        device.run(() -> {
            int done = 0;
            try {
                for (; done < handles.length; done++) {
                    long page = address + done * pageBytes;
                    int result = cuMemMap(page, pageBytes, 0, handles[done], 0);
                    if (result != CudaDriver.SUCCESS) {
                        CudaDriver.check("cuMemMap of handle " + handles[done] + " at address " + page, result);
                    }
                }
                CudaDriver.check("cuMemSetAccess", cuMemSetAccess(address, handles.length * pageBytes, access, 1));
            } catch (MemorySourceException e) {
                takeBack(address, done);
                throw e;
            }
        });
    }

    /** Undoes what was mapped before another page could not be; the first failure is the one to tell. */
    private void takeBack(long address, int pages) {
        for (int i = 0; i < pages; i++) {
            cuMemUnmap(address + i * pageBytes, pageBytes);
        }
    }

    @Override
    public void unmap(long address, int pages) {
        count(0, pages, 0);
        device.run(() -> {
            for (int i = 0; i < pages; i++) {
                CudaDriver.check("cuMemUnmap", cuMemUnmap(address + i * pageBytes, pageBytes));
            }
        });
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
