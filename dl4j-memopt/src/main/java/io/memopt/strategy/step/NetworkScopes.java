// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The workspaces that networks use on the calling thread, after a failure amid them: Deeplearning4j leaves scopes open when a
 * scope around them could not be left, and ND4J a size without a block. Workspaces of users and iterators are not touched.
 */
public final class NetworkScopes {
    /** Of one workspace; it counts how often it was entered again. */
    private static final int MOST_OPENINGS = 64;

    private NetworkScopes() {}

    /**
     * Leaves and destroys them.
     *
     * @param current the workspace that was current when the pass began
     */
    public static void clear(@Nullable MemoryWorkspace current) {
        List<MemoryWorkspace> all = new ArrayList<>(Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread());
        all.removeIf(workspace -> !NetworkWorkspaces.serves(workspace.getId()));
        all.forEach(NetworkScopes::leave);
        Nd4j.getMemoryManager().setCurrentWorkspace(current);
        all.forEach(Nd4j.getWorkspaceManager()::destroyWorkspace);
        MemoryHooks.recording().releaseArena();
    }

    private static void leave(MemoryWorkspace workspace) {
        for (int i = 0; i < MOST_OPENINGS && workspace.isScopeActive(); i++) {
            try {
                workspace.close();
            } catch (RuntimeException | OutOfMemoryError e) {
                // A larger block was refused once more: the scope is left, and the block is not wanted.
            }
        }
    }
}
