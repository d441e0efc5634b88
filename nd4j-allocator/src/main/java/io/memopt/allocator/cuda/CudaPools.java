// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolOptions;

/**
 * Opens pools on CUDA devices. Streams are given to them as the numbers of their handles.
 *
 * <p>Threading: safe.
 */
public final class CudaPools {
    /** Where a pool's memory comes from. */
    public enum Source {
        /** Pages by virtual memory management: blocks grow in place and fragments can be moved. */
        PAGES,
        /** The driver's stream-ordered pool. */
        DRIVER_POOL,
        /** As cudaMalloc. */
        MALLOC
    }

    private CudaPools() {}

    /**
     * A pool on the best source that the driver and the device support.
     *
     * @param device number as CUDA counts the devices of this process
     * @throws io.memopt.allocator.pool.MemorySourceException if there is no such device
     */
    public static MemoryPool device(int device, PoolOptions options) {
        CudaDevice known = new CudaDevice(device);
        return open(known, best(known), options);
    }

    /** As {@link #device(int, PoolOptions)} on the source named, for comparison. */
    public static MemoryPool device(int device, Source source, PoolOptions options) {
        return open(new CudaDevice(device), source, options);
    }

    /**
     * As {@link #device(int, PoolOptions)} by pages of {@code pageBytes}, for comparison.
     *
     * @param pageBytes a power of two of at least 2 MiB
     */
    public static MemoryPool pages(int device, long pageBytes, PoolOptions options) {
        CudaDevice known = new CudaDevice(device);
        return new MemoryPool(new MappedPages(known, pageBytes), new CudaEvents(known), options);
    }

    /** The best source that the driver and the device support. */
    public static Source best(int device) {
        return best(new CudaDevice(device));
    }

    /** A pool of page-locked host memory for copies to and from a device. */
    public static MemoryPool pinned(int device, PoolOptions options) {
        CudaDevice known = new CudaDevice(device);
        return new MemoryPool(new PinnedSegments(known), new CudaEvents(known), options);
    }

    private static Source best(CudaDevice device) {
        if (device.mapsMemory()) {
            return Source.PAGES;
        }
        return device.hasPools() ? Source.DRIVER_POOL : Source.MALLOC;
    }

    private static MemoryPool open(CudaDevice device, Source source, PoolOptions options) {
        CudaEvents events = new CudaEvents(device);
        return switch (source) {
            case PAGES -> new MemoryPool(new MappedPages(device), events, options);
            case DRIVER_POOL -> new MemoryPool(new DriverSegments(device, true), events, options);
            case MALLOC -> new MemoryPool(new DriverSegments(device, false), events, options);
        };
    }
}
