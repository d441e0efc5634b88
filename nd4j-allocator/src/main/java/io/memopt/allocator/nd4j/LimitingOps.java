// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/**
 * Between ND4J's native library and the recording while an {@link AllocationLimit} holds. Refuses as the library does: memory
 * of the host by the exception that a C++ {@code bad_alloc} becomes, everything else by null and an error code, which ND4J's Java
 * code asks for. {@link InterposerFactory} generates the other methods as plain forwards.
 *
 * <p>Threading: called from any thread, deallocator threads included.
 */
public abstract class LimitingOps implements NativeOps {
    private static final String BAD_ALLOC = "std::bad_alloc";
    private static final int CPU_ERROR = 1;
    /** {@code cudaErrorMemoryAllocation}. */
    private static final int CUDA_ERROR = 2;

    /** ND4J's own. */
    protected final NativeOps target;

    private final AllocationLimit limit;
    private final boolean cuda;

    /**
     * Limits what {@code target} hands out.
     *
     * @param cuda true if arrays live on a device
     */
    protected LimitingOps(NativeOps target, AllocationLimit limit, boolean cuda) {
        this.target = target;
        this.limit = limit;
        this.cuda = cuda;
    }

    final NativeOps target() {
        return target;
    }

    final AllocationLimit limit() {
        return limit;
    }

    @Override
    public @Nullable Pointer mallocHost(long bytes, int flags) {
        if (limit.space() == MemorySpace.DEVICE) {
            return target.mallocHost(bytes, flags);
        }
        if (!limit.admits(bytes, false)) {
            throw new RuntimeException(BAD_ALLOC);
        }
        return taken(bytes, 0, () -> target.mallocHost(bytes, flags));
    }

    @Override
    public @Nullable Pointer mallocDevice(long bytes, int device, int flags) {
        if (limit.space() != MemorySpace.DEVICE) {
            return target.mallocDevice(bytes, device, flags);
        }
        if (!limit.admits(bytes, false)) {
            refuse();
            return null;
        }
        return taken(bytes, 0, () -> target.mallocDevice(bytes, device, flags));
    }

    @Override
    public int freeHost(Pointer pointer) {
        freed(pointer);
        return target.freeHost(pointer);
    }

    @Override
    public int freeDevice(Pointer pointer, int device) {
        freed(pointer);
        return target.freeDevice(pointer, device);
    }

    @Override
    public @Nullable OpaqueDataBuffer allocateDataBuffer(long elements, int type, boolean both) {
        return buffer(elements, type, () -> target.allocateDataBuffer(elements, type, both));
    }

    @Override
    public @Nullable OpaqueDataBuffer dbAllocateDataBuffer(long elements, int type, boolean both) {
        return buffer(elements, type, () -> target.dbAllocateDataBuffer(elements, type, both));
    }

    @Override
    public void deleteDataBuffer(OpaqueDataBuffer buffer) {
        freed(buffer);
        target.deleteDataBuffer(buffer);
    }

    @Override
    public void dbClose(OpaqueDataBuffer buffer) {
        freed(buffer);
        target.dbClose(buffer);
    }

    @Override
    public void dbExpand(OpaqueDataBuffer buffer, long elements) {
        expand(buffer, elements, () -> target.dbExpand(buffer, elements));
    }

    @Override
    public void dbExpandBuffer(OpaqueDataBuffer buffer, long elements) {
        expand(buffer, elements, () -> target.dbExpandBuffer(buffer, elements));
    }

    @Override
    public int lastErrorCode() {
        return limit.hasError() ? code() : target.lastErrorCode();
    }

    @Override
    public @Nullable String lastErrorMessage() {
        String ours = limit.takeError();
        return ours == null ? target.lastErrorMessage() : ours;
    }

    private @Nullable OpaqueDataBuffer buffer(long elements, int type, Supplier<@Nullable OpaqueDataBuffer> call) {
        int width = ElementWidths.counted(type);
        long bytes = elements * width;
        if (!limit.admits(bytes, true)) {
            refuse();
            return null;
        }
        return taken(bytes, width, call);
    }

    /** The library holds old and new bytes for a moment; those of unknown arrays do not count. */
    private void expand(OpaqueDataBuffer buffer, long elements, Runnable call) {
        int width = limit.widthOf(buffer.address());
        long bytes = elements * width;
        if (width == 0) {
            call.run();
        } else if (limit.admits(bytes, true)) {
            call.run();
            limit.admitted(buffer.address(), bytes, width);
        } else {
            refuse();
        }
    }

    private <P extends Pointer> @Nullable P taken(long bytes, int width, Supplier<@Nullable P> call) {
        P pointer = null;
        try {
            pointer = call.get();
        } finally {
            if (pointer == null || pointer.address() == 0) {
                limit.notTaken(bytes);
            } else {
                limit.admitted(pointer.address(), bytes, width);
            }
        }
        return pointer;
    }

    private void refuse() {
        limit.error(cuda ? "[DEVICE] allocation failed; Error code: [" + CUDA_ERROR + "]" : BAD_ALLOC);
    }

    private int code() {
        return cuda ? CUDA_ERROR : CPU_ERROR;
    }

    private void freed(@Nullable Pointer pointer) {
        if (pointer != null) {
            limit.freed(pointer.address());
        }
    }
}
