// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.bytedeco.javacpp.BooleanPointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;
import org.nd4j.nativeblas.OpaqueShapeList;

/**
 * Between ND4J's native library and the recording: takes memory from {@link ServedMemory} where that serves it, and gives
 * back what came from there. {@link InterposerFactory} generates the other methods as plain forwards.
 *
 * <p>Arrays outside workspaces are native buffers that own their memory. A served one is a native buffer around a block that
 * it does not own, as arrays inside workspaces are; the block is freed when the buffer is deleted, closed or has moved to
 * memory of its own. Its views are Java objects that keep the buffer reachable.
 *
 * <p>Threading: called from any thread, deallocator threads included.
 */
public abstract class ServingOps implements NativeOps {
    /** Below, what mirrors would save is less than what remembering them takes. */
    private static final long MIN_HOST_BYTES = 4096;

    /** ND4J's own. */
    protected final NativeOps target;

    private final ServedMemory memory;
    private final ShapeQuestions questions = new ShapeQuestions();
    private final HostPlaces places = new HostPlaces();
    private final boolean cuda;

    /**
     * Serves in front of {@code target}.
     *
     * @param cuda true if arrays live on a device
     */
    protected ServingOps(NativeOps target, ServedMemory memory, boolean cuda) {
        this.target = target;
        this.memory = memory;
        this.cuda = cuda;
    }

    final NativeOps target() {
        return target;
    }

    final ServedMemory memory() {
        return memory;
    }

    /** True if {@code address} is pageable memory in the place of page-locked. */
    final boolean isMirror(long address) {
        return memory.pageable().owns(address);
    }

    @Override
    public @Nullable Pointer mallocHost(long bytes, int flags) {
        long address = bytes < MIN_HOST_BYTES ? 0 : hostBlock(bytes);
        return address == 0 ? target.mallocHost(bytes, flags) : new PagedPointer(address);
    }

    private long hostBlock(long bytes) {
        if (memory.mirrors() && MirrorScope.isInside()) {
            return memory.pageable().allocate(bytes);
        }
        return memory.servesPinned() ? memory.pinnedBlock(target.getDevice(), bytes) : 0;
    }

    @Override
    public int freeHost(Pointer pointer) {
        boolean ours =
                pointer != null && (memory.pageable().free(pointer.address()) || memory.freeBlock(pointer.address()));
        return ours ? freed() : target.freeHost(pointer);
    }

    @Override
    public @Nullable Pointer mallocDevice(long bytes, int device, int flags) {
        long address = memory.servesDevice() ? memory.deviceBlock(target.getDevice(), bytes) : 0;
        return address == 0 ? target.mallocDevice(bytes, device, flags) : new PagedPointer(address);
    }

    @Override
    public int freeDevice(Pointer pointer, int device) {
        boolean ours = pointer != null && memory.freeBlock(pointer.address());
        return ours ? freed() : target.freeDevice(pointer, device);
    }

    @Override
    public @Nullable OpaqueDataBuffer allocateDataBuffer(long elements, int type, boolean both) {
        OpaqueDataBuffer served = both ? null : servedBuffer(elements, type);
        return created(served == null ? target.allocateDataBuffer(elements, type, both) : served, elements, type, both);
    }

    @Override
    public @Nullable OpaqueDataBuffer dbAllocateDataBuffer(long elements, int type, boolean both) {
        OpaqueDataBuffer served = both ? null : servedBuffer(elements, type);
        return created(
                served == null ? target.dbAllocateDataBuffer(elements, type, both) : served, elements, type, both);
    }

    private @Nullable OpaqueDataBuffer created(
            @Nullable OpaqueDataBuffer buffer, long elements, int type, boolean both) {
        if (!both && keepsOnDevice()) {
            places.created(buffer, elements, ElementWidths.exact(type));
        }
        return buffer;
    }

    /** ND4J's own place is written all over with zeros, so that it takes its full size. */
    @Override
    public void dbAllocatePrimaryBuffer(OpaqueDataBuffer buffer) {
        if (!places.give(buffer, memory.pageable(), target)) {
            target.dbAllocatePrimaryBuffer(buffer);
        }
    }

    @Override
    public @Nullable OpaqueDataBuffer dbCreateExternalDataBuffer(
            long elements, int type, @Nullable Pointer primary, @Nullable Pointer special) {
        OpaqueDataBuffer buffer = target.dbCreateExternalDataBuffer(elements, type, primary, special);
        if (keepsOnDevice()) {
            questions.created(buffer, elements * ElementWidths.exact(type));
        }
        return buffer;
    }

    @Override
    public @Nullable OpaqueDataBuffer dbCreateView(OpaqueDataBuffer parent, long bytes, long offset) {
        OpaqueDataBuffer view = target.dbCreateView(parent, bytes, offset);
        if (keepsOnDevice()) {
            questions.created(view, bytes);
        }
        return view;
    }

    @Override
    public void dbSyncToPrimary(OpaqueDataBuffer buffer) {
        if (!keepsOnDevice() || !questions.putsOff(buffer)) {
            target.dbSyncToPrimary(buffer);
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable OpaqueShapeList calculateOutputShapes2(
            PointerPointer extra,
            long hash,
            PointerPointer inputs,
            PointerPointer shapes,
            int inputCount,
            DoublePointer numbers,
            int numberCount,
            LongPointer integers,
            int integerCount,
            BooleanPointer booleans,
            int booleanCount,
            IntPointer types,
            int typeCount) {
        questions.answer(hash, target::dbSyncToPrimary);
        return target.calculateOutputShapes2(
                extra,
                hash,
                inputs,
                shapes,
                inputCount,
                numbers,
                numberCount,
                integers,
                integerCount,
                booleans,
                booleanCount,
                types,
                typeCount);
    }

    /** Pageable mirrors are slow to copy to, and cost memory once they are touched. */
    private boolean keepsOnDevice() {
        return cuda && memory.mirrors();
    }

    @Override
    public void deleteDataBuffer(OpaqueDataBuffer buffer) {
        questions.gone(buffer);
        long place = places.gone(buffer);
        long block = unbind(buffer);
        target.deleteDataBuffer(buffer);
        release(block);
        releasePlace(place);
    }

    @Override
    public void dbClose(OpaqueDataBuffer buffer) {
        long place = places.gone(buffer);
        long block = unbind(buffer);
        target.dbClose(buffer);
        release(block);
        releasePlace(place);
    }

    private void releasePlace(long place) {
        if (place != 0) {
            memory.pageable().free(place);
            freed();
        }
    }

    @Override
    public void dbExpand(OpaqueDataBuffer buffer, long elements) {
        target.dbExpand(buffer, elements);
        moved(buffer);
    }

    @Override
    public void dbExpandBuffer(OpaqueDataBuffer buffer, long elements) {
        target.dbExpandBuffer(buffer, elements);
        moved(buffer);
    }

    /** Null when ND4J is to make the buffer itself. */
    private @Nullable OpaqueDataBuffer servedBuffer(long elements, int type) {
        int width = ElementWidths.exact(type);
        if (!memory.servesDevice() || width == 0 || elements <= 0) {
            return null;
        }
        long block = memory.deviceBlockPatiently(target.getDevice(), elements * width);
        if (block == 0) {
            return null;
        }
        Pointer data = new PagedPointer(block);
        OpaqueDataBuffer buffer = cuda
                ? target.dbCreateExternalDataBuffer(elements, type, null, data)
                : target.dbCreateExternalDataBuffer(elements, type, data, null);
        if (buffer == null || buffer.address() == 0) {
            release(block);
            return null;
        }
        memory.bind(buffer.address(), block);
        if (cuda) {
            target.dbTickDeviceWrite(buffer); // as in a buffer with memory of its own: the device has the latest
        }
        return buffer;
    }

    /** A buffer that had to grow has memory of its own now; one that was large enough still has ours. */
    private void moved(OpaqueDataBuffer buffer) {
        long block = unbind(buffer);
        if (block == 0) {
            return;
        }
        Pointer data = cuda ? target.dbSpecialBuffer(buffer) : target.dbPrimaryBuffer(buffer);
        if (data != null && data.address() == block) {
            memory.bind(buffer.address(), block);
        } else {
            release(block);
        }
    }

    private long unbind(@Nullable OpaqueDataBuffer buffer) {
        return buffer == null ? 0 : memory.unbind(buffer.address());
    }

    private void release(long block) {
        if (block != 0) {
            memory.freeBlock(block);
            freed();
        }
    }

    /** What native frees return when all went well. */
    private int freed() {
        if (memory.isOver()) {
            MemoryHooks.removeIdleLayer();
        }
        return 1;
    }
}
