// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspace;
import org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspaceManager;

/**
 * ND4J's workspace manager, handing out workspaces that are recorded. ND4J makes it through its no-argument constructor
 * when the system property {@code workspacemanager} names it; {@link MemoryHooks#install()} puts it in later.
 */
public final class TrackingCpuWorkspaceManager extends CpuWorkspaceManager {

    /** Also places the native-call interposer, so that ND4J's start finds it in place. */
    public TrackingCpuWorkspaceManager() {
        MemoryHooks.managerCreated();
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration) {
        return bypassed() ? super.newWorkspace(configuration) : new TrackingCpuWorkspace(configuration);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id) {
        return bypassed() ? super.newWorkspace(configuration, id) : new TrackingCpuWorkspace(configuration, id);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id, int device) {
        return bypassed()
                ? super.newWorkspace(configuration, id, device)
                : new TrackingCpuWorkspace(configuration, id, device);
    }

    /** Asked for every array; workspaces from before the hooks give way to recorded ones when they are asked for again. */
    @Override
    public MemoryWorkspace getWorkspaceForCurrentThread(WorkspaceConfiguration configuration, String id) {
        MemoryWorkspace workspace = super.getWorkspaceForCurrentThread(configuration, id);
        try {
            if (RecordedWorkspace.isReplaceable(workspace, CpuWorkspace.class) && !bypassed()) {
                destroyWorkspace(workspace);
                workspace = super.getWorkspaceForCurrentThread(configuration, id);
            }
            MemoryHooks.recording().observers().configurationUsed(configuration, id);
        } catch (RuntimeException | LinkageError e) {
            HookFailures.report(e);
        }
        return workspace;
    }

    /** The planned arena of the thread goes with its workspaces. */
    @Override
    public void destroyAllWorkspacesForCurrentThread() {
        super.destroyAllWorkspacesForCurrentThread();
        HookFailures.contain(() -> {
            WorkspaceReuse reuse = MemoryHooks.recording().reuse();
            if (reuse != null) {
                reuse.threadCleared();
            }
        });
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
