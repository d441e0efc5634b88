// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.concurrent.ConcurrentLinkedQueue;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.jita.allocator.impl.AllocationPoint;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.jita.allocator.pointers.CudaPointer;
import org.nd4j.jita.allocator.pointers.cuda.cudaStream_t;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.concurrency.AffinityManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Copies through page-locked staging memory on the copy stream that ND4J gives each thread.
 *
 * <p>ND4J itself copies an array that was written on the host when an operation first needs it: on the thread that computes,
 * from pageable memory, on the default stream of the device, which other streams wait for. Here the thread that prepares the
 * array copies it, and marks it as current in both places.
 *
 * <p>Views of a part of an array go ND4J's way, on the calling thread: a mark would be one for the whole array.
 *
 * <p>Staging blocks have two halves: one is filled while the device reads the other. Threading: safe. Each thread that is copying
 * holds one staging block.
 */
final class CudaUpload implements ArrayUpload {
    /** At 50 GB/s a half takes 84 us, next to which the call and the wait, some 10 us, are little. */
    private static final long HALF_BYTES = 4L << 20;

    private static final long STAGE_BYTES = 2 * HALF_BYTES;
    /** The constant of the CUDA runtime, as ND4J has it. */
    private static final int HOST_TO_DEVICE = 1;

    private final ConcurrentLinkedQueue<Pointer> idle = new ConcurrentLinkedQueue<>();

    @Override
    public long upload(INDArray array) {
        if (array.isEmpty() || array.isS()) {
            return 0;
        }
        DataBuffer data = array.data();
        AllocationPoint point = AtomicAllocator.getInstance().getAllocationPoint(data);
        if (point.isActualOnDeviceSide()) {
            return 0;
        }
        long bytes = data.length() * data.getElementSize();
        Pointer host = point.getHostPointer();
        if (!isWhole(data) || host == null) {
            Nd4j.getAffinityManager().ensureLocation(array, AffinityManager.Location.DEVICE);
            return bytes;
        }
        copy(point.getDevicePointer(), host, bytes);
        point.tickDeviceWrite();
        point.tickHostRead();
        return bytes;
    }

    @Override
    public void awaitThread() {
        Nd4j.getExecutioner().commit();
    }

    @Override
    public void close() {
        for (Pointer stage = idle.poll(); stage != null; stage = idle.poll()) {
            ops().freeHost(stage);
        }
    }

    private void copy(Pointer device, Pointer host, long bytes) {
        cudaStream_t stream = AtomicAllocator.getInstance().getDeviceContext().getSpecialStream();
        Pointer stage = stage();
        try {
            long half = 0;
            for (long done = 0; done < bytes; done += HALF_BYTES) {
                long part = Math.min(HALF_BYTES, bytes - done);
                Pointer filled = at(stage, half);
                Pointer.memcpy(filled, at(host, done), part);
                stream.synchronize(); // the device is through with the other half
                if (ops().memcpyAsync(at(device, done), filled, part, HOST_TO_DEVICE, stream) == 0) {
                    throw new IllegalStateException("Copy of " + part + " B at offset " + done + " of " + bytes
                            + " B to the device failed: " + ops().lastErrorMessage());
                }
                half = HALF_BYTES - half;
            }
            stream.synchronize();
        } finally {
            idle.add(stage);
        }
    }

    private Pointer stage() {
        Pointer known = idle.poll();
        Pointer stage = known == null ? allocate() : known;
        if (stage == null) {
            throw new IllegalStateException("No " + STAGE_BYTES + " B of page-locked memory to copy through. "
                    + "Prefetch with fewer threads, or free page-locked memory.");
        }
        return stage;
    }

    private static @Nullable Pointer allocate() {
        return ops().mallocHost(STAGE_BYTES, 0);
    }

    private static Pointer at(Pointer base, long offset) {
        return new CudaPointer(base.address() + offset);
    }

    /** True when the buffer is all of its memory: marks are of the memory, not of the view. */
    private static boolean isWhole(DataBuffer data) {
        DataBuffer original = data.originalDataBuffer();
        return original == null || (original.length() == data.length() && data.offset() == 0);
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }
}
