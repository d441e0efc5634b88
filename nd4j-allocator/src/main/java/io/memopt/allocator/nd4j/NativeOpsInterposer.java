// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/**
 * Stands between ND4J and its native library and books every native allocation, free and transfer. The methods below are
 * those that matter; {@link InterposerFactory} generates the others as plain forwards at run time, so that the same
 * class works on every ND4J whose {@link NativeOps} has them.
 *
 * <p>Order matters: a free is booked before it happens and an allocation after it did, because another thread may get the
 * same address in between.
 *
 * <p>Threading: called from any thread, deallocator threads included.
 */
public abstract class NativeOpsInterposer implements NativeOps {
    /** Name of the call that runs an operation. */
    static final String OPERATION = "execCustomOp2";
    /** Remembering smaller ones costs more than what it tells. */
    private static final long LEAST_PLACED_BYTES = 64 << 10;
    /** What ND4J's calls of the driver answer when all is well. */
    private static final int DONE = 1;

    /** What ND4J had before; forwards go here. */
    protected final NativeOps target;

    private final MemoryLedger ledger;
    private final MemorySpace hostSpace;
    private final MemorySpace bufferSpace;
    /** Large native buffers on a device, and whether their place on the host is booked. */
    private final Map<Long, Boolean> placed = new ConcurrentHashMap<>();

    /**
     * Interposes on {@code target}.
     *
     * @param cuda true when buffers live on a device and host memory is page-locked
     */
    protected NativeOpsInterposer(NativeOps target, MemoryLedger ledger, boolean cuda) {
        this.target = target;
        this.ledger = ledger;
        this.hostSpace = cuda ? MemorySpace.PINNED : MemorySpace.HOST;
        this.bufferSpace = cuda ? MemorySpace.DEVICE : MemorySpace.HOST;
    }

    @Override
    public @Nullable Pointer mallocHost(long bytes, int flags) {
        Pointer pointer = attempt(hostSpace, bytes, () -> target.mallocHost(bytes, flags));
        return booked(isMirror(pointer) ? MemorySpace.HOST : hostSpace, bytes, pointer);
    }

    @Override
    public @Nullable Pointer mallocDevice(long bytes, int device, int flags) {
        Pointer pointer = attempt(MemorySpace.DEVICE, bytes, () -> target.mallocDevice(bytes, device, flags));
        return booked(MemorySpace.DEVICE, bytes, pointer);
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
        return bookedBuffer(
                elements, ElementWidths.counted(type), () -> target.allocateDataBuffer(elements, type, both));
    }

    @Override
    public @Nullable OpaqueDataBuffer dbAllocateDataBuffer(long elements, int type, boolean both) {
        return bookedBuffer(
                elements, ElementWidths.counted(type), () -> target.dbAllocateDataBuffer(elements, type, both));
    }

    @Override
    public @Nullable OpaqueDataBuffer dbCreateView(OpaqueDataBuffer parent, long bytes, long offset) {
        OpaqueDataBuffer view = target.dbCreateView(parent, bytes, offset);
        if (view != null && parent != null) {
            HookFailures.contain(() -> ledger.viewCreated(parent.address(), view.address()));
        }
        return view;
    }

    /** An array on a device gets a place on the host, which ND4J fills with zeros: memory like any other. */
    @Override
    public void dbAllocatePrimaryBuffer(OpaqueDataBuffer buffer) {
        target.dbAllocatePrimaryBuffer(buffer);
        if (onDevice()) {
            HookFailures.contain(() -> bookPlace(buffer));
        }
    }

    private void bookPlace(OpaqueDataBuffer buffer) {
        if (!placed.replace(buffer.address(), false, true)) {
            return;
        }
        Pointer place = target.dbPrimaryBuffer(buffer);
        LiveAllocation array = ledger.find(buffer.address());
        if (array != null && place != null && !isMirror(place)) {
            ledger.hostPlaceAllocated(buffer.address(), array, place.address());
        }
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
        target.dbExpand(buffer, elements);
        expanded(buffer, elements);
    }

    @Override
    public void dbExpandBuffer(OpaqueDataBuffer buffer, long elements) {
        target.dbExpandBuffer(buffer, elements);
        expanded(buffer, elements);
    }

    @Override
    public int memcpySync(Pointer to, Pointer from, long bytes, int kind, Pointer reserved) {
        if (isUploadToArena(kind, to)) {
            Nd4j.getExecutioner().commit();
        }
        payWaits(null);
        long start = System.nanoTime();
        int result = target.memcpySync(to, from, bytes, kind, reserved);
        transferred(kind, to, from, bytes, start);
        return result;
    }

    @Override
    public int memcpyAsync(Pointer to, Pointer from, long bytes, int kind, Pointer reserved) {
        long start = System.nanoTime();
        int result = isUploadToArena(kind, to)
                ? uploadToArena(to, from, bytes, reserved)
                : copy(to, from, bytes, kind, reserved);
        transferred(kind, to, from, bytes, start);
        return result;
    }

    private int copy(Pointer to, Pointer from, long bytes, int kind, Pointer stream) {
        payWaits(stream);
        return target.memcpyAsync(to, from, bytes, kind, stream);
    }

    /**
     * ND4J clears new arrays on a stream of its own, beside that of the operations. In an arena an operation may still read
     * the array that had the bytes, so these are cleared in the order of the operations, which needs no waiting.
     */
    @Override
    public int memsetAsync(Pointer to, int value, long bytes, int flags, Pointer stream) {
        Pointer ordered = ArenaMemory.OnDevice.holds(addressOf(to)) ? OperationStream.ofThread() : stream;
        payWaits(ordered);
        return target.memsetAsync(to, value, bytes, flags, ordered);
    }

    @Override
    public int streamSynchronize(Pointer stream) {
        PutOffWaits waits = PutOffWaits.ofThread();
        if (waits != null && waits.takes(stream)) {
            return DONE;
        }
        ledger.streamSynchronized();
        return target.streamSynchronize(stream);
    }

    /** Called only while temporaries are measured or uses recorded. */
    @Override
    @SuppressWarnings("rawtypes")
    public int execCustomOp2(PointerPointer extra, long hash, Pointer context) {
        NativeTemporaries probe = MemoryHooks.temporaries();
        if (probe == null) {
            return target.execCustomOp2(extra, hash, context);
        }
        long before = probe.before();
        int result = target.execCustomOp2(extra, hash, context);
        probe.after(hash, before);
        return result;
    }

    private @Nullable Pointer booked(MemorySpace space, long bytes, @Nullable Pointer pointer) {
        if (pointer != null) {
            HookFailures.contain(() -> ledger.allocated(space, pointer.address(), pointer.address(), bytes, bytes));
        }
        return pointer;
    }

    private boolean isMirror(@Nullable Pointer pointer) {
        return pointer != null && target instanceof ServingOps serving && serving.isMirror(pointer.address());
    }

    private @Nullable OpaqueDataBuffer bookedBuffer(long elements, int width, Native<OpaqueDataBuffer> allocation) {
        OpaqueDataBuffer buffer = attempt(bufferSpace, elements * width, allocation);
        if (buffer != null) {
            HookFailures.contain(() -> {
                ledger.bufferAllocated(bufferSpace, buffer.address(), dataAddress(buffer), elements, width);
                if (onDevice() && elements * width >= LEAST_PLACED_BYTES) {
                    placed.put(buffer.address(), false);
                }
            });
        }
        return buffer;
    }

    /** Null, address 0 and exceptions all mean that there is no memory; ND4J goes on as it would have. */
    private <P extends Pointer> @Nullable P attempt(MemorySpace space, long bytes, Native<P> allocation) {
        P pointer;
        try {
            pointer = allocation.call();
        } catch (RuntimeException | OutOfMemoryError e) {
            HookFailures.contain(() -> ledger.allocationFailed(space, bytes));
            throw e;
        }
        if (pointer == null || pointer.address() == 0) {
            HookFailures.contain(() -> ledger.allocationFailed(space, bytes));
            return null;
        }
        return pointer;
    }

    private long dataAddress(OpaqueDataBuffer buffer) {
        Pointer data =
                bufferSpace == MemorySpace.DEVICE ? target.dbSpecialBuffer(buffer) : target.dbPrimaryBuffer(buffer);
        return data == null ? 0 : data.address();
    }

    private void freed(@Nullable Pointer pointer) {
        if (pointer != null && pointer.address() != 0) {
            HookFailures.contain(() -> {
                beforeFree(pointer.address());
                ledger.freed(pointer.address());
                if (!placed.isEmpty() && Boolean.TRUE.equals(placed.remove(pointer.address()))) {
                    ledger.hostPlaceFreed(pointer.address());
                }
            });
        }
    }

    /** The memory or native buffer object behind {@code key} is about to be given back. */
    void beforeFree(long key) {}

    private void expanded(OpaqueDataBuffer buffer, long elements) {
        HookFailures.contain(() -> {
            LiveAllocation known = ledger.find(buffer.address());
            if (known != null) {
                ledger.resized(buffer.address(), dataAddress(buffer), elements * known.elementBytes());
            }
        });
    }

    private void transferred(int kind, @Nullable Pointer to, @Nullable Pointer from, long bytes, long start) {
        TransferDirection[] directions = TransferDirection.values();
        if (kind >= 0 && kind < directions.length) {
            long nanos = System.nanoTime() - start;
            HookFailures.contain(
                    () -> ledger.transferred(directions[kind], addressOf(to), addressOf(from), bytes, nanos));
        }
    }

    /**
     * Copies to the device have a stream of their own. Before one goes to bytes of an arena, whatever still reads the array
     * that had them must be done.
     */
    private static boolean isUploadToArena(int kind, @Nullable Pointer to) {
        return kind == TransferDirection.HOST_TO_DEVICE.ordinal() && ArenaMemory.OnDevice.holds(addressOf(to));
    }

    /** Small ones, which are many, take their turn among the operations; for others the thread waits. */
    private int uploadToArena(Pointer to, Pointer from, long bytes, Pointer stream) {
        OrderedUploads ordered = bytes > OrderedUploads.MOST_BYTES ? null : OrderedUploads.ofThread(target);
        if (ordered != null) {
            return ordered.copy(to, from, bytes);
        }
        if (addressOf(stream) != OperationStream.ofThread().address()) {
            Nd4j.getExecutioner().commit();
        }
        return target.memcpyAsync(to, from, bytes, TransferDirection.HOST_TO_DEVICE.ordinal(), stream);
    }

    /** Before something is done on {@code stream}, or on none in particular. */
    private void payWaits(@Nullable Pointer stream) {
        PutOffWaits waits = PutOffWaits.ofThread();
        if (waits != null) {
            waits.pay(target, stream);
        }
    }

    /** True when arrays live on a device. */
    final boolean onDevice() {
        return bufferSpace == MemorySpace.DEVICE;
    }

    private static long addressOf(@Nullable Pointer pointer) {
        return pointer == null ? 0 : pointer.address();
    }

    /** A native call that hands out memory. */
    @FunctionalInterface
    private interface Native<P> {
        @Nullable
        P call();
    }
}
