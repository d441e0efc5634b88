// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.jita.workspace.CudaWorkspace;
import org.nd4j.jita.workspace.CudaWorkspaceManager;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.DebugMode;

/**
 * ND4J's workspace manager, handing out workspaces that are recorded. ND4J makes it through its no-argument constructor
 * when the system property {@code workspacemanager} names it; {@link MemoryHooks#install()} puts it in later.
 */
public final class TrackingCudaWorkspaceManager extends CudaWorkspaceManager {

    /** Also places the native-call interposer, so that ND4J's start finds it in place. */
    public TrackingCudaWorkspaceManager() {
        MemoryHooks.managerCreated();
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration) {
        return bypassed() ? super.newWorkspace(configuration) : new TrackingCudaWorkspace(configuration);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id) {
        return bypassed() ? super.newWorkspace(configuration, id) : new TrackingCudaWorkspace(configuration, id);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id, int device) {
        return bypassed()
                ? super.newWorkspace(configuration, id, device)
                : new TrackingCudaWorkspace(configuration, id, device);
    }

    /** Asked for every array; workspaces from before the hooks give way to recorded ones when they are asked for again. */
    @Override
    public MemoryWorkspace getWorkspaceForCurrentThread(WorkspaceConfiguration configuration, String id) {
        MemoryWorkspace workspace = super.getWorkspaceForCurrentThread(configuration, id);
        try {
            if (RecordedWorkspace.isReplaceable(workspace, CudaWorkspace.class) && !bypassed()) {
                destroyWorkspace(workspace);
                workspace = super.getWorkspaceForCurrentThread(configuration, id);
            }
            MemoryHooks.recording().observers().configurationUsed(configuration, id);
        } catch (RuntimeException | LinkageError e) {
            HookFailures.report(e);
        }
        return workspace;
    }

    /** A reversed input may lie in its pass instead, see {@link ReversedInputs}. */
    @Override
    public MemoryWorkspace scopeOutOfWorkspaces() {
        MemoryWorkspace pass = MemoryHooks.recording().reversedInputs().scope(this);
        return pass == null ? super.scopeOutOfWorkspaces() : pass;
    }

    private boolean bypassed() {
        return getDebugMode() == DebugMode.BYPASS_EVERYTHING;
    }
}
