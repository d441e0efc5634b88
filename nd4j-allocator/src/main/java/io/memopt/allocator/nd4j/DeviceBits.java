// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.TransferDirection;
import java.nio.ByteBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.jita.allocator.pointers.CudaPointer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.jcublas.context.CudaContext;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * As {@link ArrayBits} for arrays on a device, which are brought to the host piece by piece. Through ND4J each would get a place
 * there of its full size, which for the gradients of VGG16 is half a GiB, and keep it.
 */
final class DeviceBits {
    private static final int CHUNK = 16 << 20;

    private DeviceBits() {}

    static boolean equal(INDArray a, INDArray b, long bytes) {
        CudaContext context = AtomicAllocator.getInstance().getDeviceContext();
        Pointer first = AtomicAllocator.getInstance().getPointer(a, context);
        Pointer second = AtomicAllocator.getInstance().getPointer(b, context);
        Nd4j.getExecutioner().commit();
        int size = (int) Math.min(CHUNK, bytes);
        try (BytePointer one = new BytePointer(size);
                BytePointer other = new BytePointer(size)) {
            for (long from = 0; from < bytes; from += size) {
                int part = (int) Math.min(size, bytes - from);
                if (copied(first, from, part, one).mismatch(copied(second, from, part, other)) >= 0) {
                    return false;
                }
            }
        }
        return true;
    }

    private static ByteBuffer copied(Pointer device, long from, int part, BytePointer to) {
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        Pointer source = new CudaPointer(device.address() + from);
        if (ops.memcpySync(to, source, part, TransferDirection.DEVICE_TO_HOST.ordinal(), null) == 0) {
            throw new IllegalStateException("Copy of " + part + " B at offset " + from + " B from the device failed: "
                    + ops.lastErrorMessage());
        }
        return to.limit(part).asByteBuffer();
    }
}
