// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.Map;
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

    @Override
    public MemoryWorkspace getWorkspaceForCurrentThread(WorkspaceConfiguration configuration, String id) {
        HookFailures.contain(() -> {
            replace(id);
            MemoryHooks.recording().observers().configurationUsed(configuration, id);
        });
        return super.getWorkspaceForCurrentThread(configuration, id);
    }

    /** Workspaces from before the hooks give way to recorded ones when they are asked for the next time. */
    private void replace(String id) {
        Map<String, MemoryWorkspace> mine = backingMap.get();
        MemoryWorkspace known = mine == null ? null : mine.get(id);
        if (!bypassed() && RecordedWorkspace.isReplaceable(known, CpuWorkspace.class)) {
            destroyWorkspace(known);
        }
    }

    private boolean bypassed() {
        return getDebugMode() == DebugMode.BYPASS_EVERYTHING;
    }
}
