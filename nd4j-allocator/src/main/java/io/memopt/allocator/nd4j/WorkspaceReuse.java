// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Serves the arrays of networks' workspaces from planned arenas, one for each thread. Other workspaces, those of users and the
 * ring buffers of prefetching iterators, are left to ND4J.
 *
 * <p>Threading: safe; every thread has an arena of its own.
 */
public final class WorkspaceReuse {
    private final ThreadLocal<ThreadArena> arenas;

    WorkspaceReuse(MemoryLedger ledger, RegionPolicy policy) {
        this.arenas = ThreadLocal.withInitial(() -> new ThreadArena(ledger, policy));
    }

    /** What a workspace of the ND4J at hand takes for an array of {@code bytes}. */
    public static long roundedBytes(long bytes) {
        return ScopeRecorder.rounded(bytes);
    }

    /** Whether the arrays of {@code workspace} are those of a network. */
    public static boolean serves(String workspace) {
        return NetworkWorkspaces.serves(workspace);
    }

    /**
     * Gives back the blocks that ND4J holds for the closed network workspaces of the calling thread, and has ND4J forget what
     * sizes it learnt for them. Bytes that they need from now on come from the arena or are allocated one by one.
     */
    public void releaseBlocks() {
        for (MemoryWorkspace workspace : Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread()) {
            if (workspace instanceof ForgetfulWorkspace forgetful
                    && serves(workspace.getId())
                    && !workspace.isScopeActive()
                    && workspace.getCurrentSize() > 0) {
                forgetful.forgetBlock();
            }
        }
    }

    /** Gives back the arena of the calling thread, unless it is in use. */
    void release() {
        arenas.get().release();
        arenas.remove();
    }

    void scopeEntered(String workspace) {
        arenas.get().scopeEntered(workspace);
    }

    void scopeClosed() {
        arenas.get().scopeClosed();
    }

    @Nullable
    PagedPointer place(
            String workspace, WorkspaceAccount account, MemorySpace space, long roundedBytes, long elements) {
        return arenas.get().place(workspace, account, space, roundedBytes, elements);
    }

    /** A workspace whose block can be taken away. */
    interface ForgetfulWorkspace {

        /** Frees the block and forgets how large it should be. */
        void forgetBlock();
    }
}
