// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.ThreadContext;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.memory.enums.ResetPolicy;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspace;

/** ND4J's workspace for host memory, which also tells a {@link ScopeRecorder} what it does. */
class TrackingCpuWorkspace extends CpuWorkspace implements RecordedWorkspace, WorkspaceReuse.ForgetfulWorkspace {
    /** Made by the first call, which may come from the superclass constructor: no initialiser here may reset it. */
    private @Nullable ScopeRecorder recorder;

    TrackingCpuWorkspace(WorkspaceConfiguration configuration) {
        super(configuration);
    }

    TrackingCpuWorkspace(WorkspaceConfiguration configuration, String id) {
        super(configuration, id);
    }

    TrackingCpuWorkspace(WorkspaceConfiguration configuration, String id, Integer device) {
        super(configuration, id, device);
    }

    @Override
    public boolean isRecorded() {
        return recorder().isHeard();
    }

    @Override
    protected void init() {
        recorder().initialising(super::init);
    }

    @Override
    public PagedPointer alloc(long bytes, MemoryKind kind, DataType type, boolean initialize) {
        ScopeRecorder scope = recorder();
        ThreadContext outermost = scope.beginArray(willPin(bytes));
        long cycle = cycleAllocations.get();
        boolean done = false;
        try {
            PagedPointer planned = outermost != null && isUsed.get() ? scope.place(getId(), bytes, type) : null;
            if (planned != null) {
                if (initialize) {
                    Pointer.memset(planned, 0, ScopeRecorder.rounded(bytes));
                }
                scope.array(true, planned.address(), bytes);
                done = true;
                return planned;
            }
            PagedPointer pointer = super.alloc(bytes, kind, type, initialize);
            done = true;
            if (outermost != null) {
                scope.array(!outermost.hasSpilled(), pointer.address(), bytes);
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

    @Override
    public MemoryWorkspace notifyScopeEntered() {
        long generation = generationId.get();
        MemoryWorkspace entered = super.notifyScopeEntered();
        if (generationId.get() != generation) {
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
            super.close();
            done = true;
        } finally {
            if (cyclesCount.get() != cycles) {
                left(scoped, done);
            }
        }
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
                    MemoryHooks.recording(), this, MemorySpace.HOST, getWorkspaceType() == Type.CIRCULAR);
            recorder = known;
        }
        return known;
    }
}
