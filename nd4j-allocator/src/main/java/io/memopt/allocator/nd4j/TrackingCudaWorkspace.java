// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.ThreadContext;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.jita.workspace.CudaWorkspace;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.memory.enums.ResetPolicy;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * ND4J's workspace for device memory, which also tells a {@link ScopeRecorder} what it does. Loaded only when
 * nd4j-cuda is there. Arrays are counted once, in device memory; the host mirror counts as a pinned block.
 */
class TrackingCudaWorkspace extends CudaWorkspace implements RecordedWorkspace, WorkspaceReuse.ForgetfulWorkspace {
    /** Made by the first call, which may come from the superclass constructor: no initialiser here may reset it. */
    private @Nullable ScopeRecorder recorder;

    private @Nullable HostMirrors mirrors;

    TrackingCudaWorkspace(WorkspaceConfiguration configuration) {
        super(configuration);
    }

    TrackingCudaWorkspace(WorkspaceConfiguration configuration, String id) {
        super(configuration, id);
    }

    TrackingCudaWorkspace(WorkspaceConfiguration configuration, String id, Integer device) {
        super(configuration, id, device);
    }

    @Override
    public boolean isRecorded() {
        return recorder().isHeard();
    }

    @Override
    protected void init() {
        if (hasIdleMirror()) {
            MirrorScope.run(() -> {
                recorder().initialising(super::init);
                return null;
            });
        } else {
            recorder().initialising(super::init);
        }
    }

    @Override
    public @Nullable PagedPointer alloc(long bytes, MemoryKind kind, DataType type, boolean initialize) {
        ScopeRecorder scope = recorder();
        ThreadContext outermost = scope.beginArray(willPin(bytes));
        long cycle = cycleAllocations.get();
        boolean done = false;
        try {
            PagedPointer served = outermost != null && mayServe() ? serve(scope, bytes, kind, type, initialize) : null;
            if (served != null) {
                done = true;
                return served;
            }
            @Nullable
            PagedPointer pointer = kind == MemoryKind.HOST && hasIdleMirror()
                    ? MirrorScope.run(() -> super.alloc(bytes, kind, type, initialize))
                    : super.alloc(bytes, kind, type, initialize);
            done = true;
            if (outermost != null && kind == MemoryKind.DEVICE) {
                // Null where the configuration asks for host memory only.
                scope.array(!outermost.hasSpilled(), pointer == null ? 0 : pointer.address(), bytes);
            }
            return pointer;
        } finally {
            if (!done) {
                cycleAllocations.set(cycle); // what was refused is no size to learn
            }
            if (outermost != null) {
                scope.endArray(outermost);
            }
        }
    }

    /** Not where the configuration puts arrays into host memory. */
    private boolean mayServe() {
        return isUsed.get() && workspaceConfiguration.getPolicyMirroring() == MirroringPolicy.FULL;
    }

    private @Nullable PagedPointer serve(
            ScopeRecorder scope, long bytes, MemoryKind kind, DataType type, boolean initialize) {
        if (kind == MemoryKind.HOST) {
            return scope.isServed() ? mirror(scope, bytes, type, initialize) : null;
        }
        PagedPointer planned = scope.place(getId(), bytes, type);
        if (planned != null) {
            if (initialize) {
                clear(planned, ScopeRecorder.rounded(bytes));
            }
            scope.array(true, planned.address(), bytes);
        }
        return planned;
    }

    private @Nullable PagedPointer mirror(ScopeRecorder scope, long bytes, DataType type, boolean initialize) {
        HostMirrors known = mirrors;
        if (known == null) {
            known = scope.mirrors(this);
            mirrors = known;
        }
        PagedPointer place = known.place(bytes, bytes / Nd4j.sizeOfDataType(type));
        if (place != null && initialize) {
            Pointer.memset(place, 0, bytes);
        }
        return place;
    }

    /** On the stream of the operations: after those that still read what lay there, before those to come. */
    private static void clear(PagedPointer bytes, long size) {
        NativeOpsHolder.getInstance().getDeviceNativeOps().memsetAsync(bytes, 0, size, 0, OperationStream.ofThread());
    }

    @Override
    public MemoryWorkspace notifyScopeEntered() {
        long generation = generationId.get();
        MemoryWorkspace entered = super.notifyScopeEntered();
        if (generationId.get() != generation) {
            if (mirrors != null) {
                mirrors.clear();
            }
            recorder().entered(getId());
        }
        return entered;
    }

    @Override
    public void close() {
        long cycles = cyclesCount.get();
        boolean scoped = recorder().isScoped();
        if (scoped) {
            // The arena grows instead: no block for what found no room.
            cycleAllocations.set(0);
            maxCycle.set(0);
        }
        boolean done = false;
        try {
            if (needNotWait()) {
                PutOffWaits.leaving(super::close);
            } else {
                super.close();
            }
            done = true;
        } finally {
            if (cyclesCount.get() != cycles) {
                left(scoped, done);
            }
        }
    }

    /** All arrays of the scope lie in an arena, and another workspace of this thread of which that holds is left later, and waits. */
    private boolean needNotWait() {
        return recorder().needsNoWait()
                && getNumberOfExternalAllocations() == 0
                && getNumberOfPinnedAllocations() == 0
                && previousWorkspace instanceof TrackingCudaWorkspace outer
                && outer != this
                && outer.isScopeActive()
                && outer.recorder().needsNoWait();
    }

    /** {@code done}: false when a larger block was refused. The scope is left all the same, but ND4J has a size without a block. */
    private void left(boolean scoped, boolean done) {
        if (!done) {
            forgetBlock();
        } else if (scoped && getNumberOfExternalAllocations() > 0) {
            clearExternalAllocations();
        }
        recorder().closed(getId());
    }

    @Override
    public void reset() {
        super.reset();
        recorder().arraysReleased();
    }

    @Override
    public synchronized void destroyWorkspace(boolean extended) {
        super.destroyWorkspace(extended);
        if (mirrors != null) {
            mirrors.free();
        }
        recorder().arraysReleased();
    }

    @Override
    public boolean holdsMemory() {
        return getCurrentSize() > 0 || getNumberOfExternalAllocations() > 0;
    }

    @Override
    public void forgetBlock() {
        destroyWorkspace(true);
        maxCycle.set(0);
        cyclesCount.set(0);
        isInit.set(false);
    }

    /**
     * Host memory of this workspace only mirrors the device's. Not so where kernels work on it directly, and where a prefetching
     * iterator fills it for a transfer.
     */
    private boolean hasIdleMirror() {
        return workspaceConfiguration.getPolicyMirroring() == MirroringPolicy.FULL
                && workspaceConfiguration.getPolicyReset() != ResetPolicy.ENDOFBUFFER_REACHED;
    }

    /** As in Nd4jWorkspace.alloc: a circular workspace whose cycle outgrew its share sets arrays apart. */
    private boolean willPin(long bytes) {
        boolean outgrown = workspaceConfiguration.getPolicyReset() == ResetPolicy.ENDOFBUFFER_REACHED
                && initialBlockSize.get() > 0
                && bytes + cycleAllocations.get() > initialBlockSize.get();
        return outgrown || trimmedMode.get();
    }

    private ScopeRecorder recorder() {
        ScopeRecorder known = recorder;
        if (known == null) {
            known = new ScopeRecorder(
                    MemoryHooks.recording(), this, MemorySpace.DEVICE, getWorkspaceType() == Type.CIRCULAR);
            recorder = known;
        }
        return known;
    }
}
