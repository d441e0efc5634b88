// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Serves the arrays of networks' workspaces from planned arenas, one for each thread. Other workspaces, those of users and the
 * ring buffers of prefetching iterators, are left to ND4J.
 *
 * <p>Threading: safe; every thread has an arena of its own.
 */
public final class WorkspaceReuse {
    private final ThreadLocal<ThreadArena> arenas;
    private final Set<ThreadArena> all = Collections.newSetFromMap(new WeakHashMap<>());
    private final ArenaFigures figures = new ArenaFigures();
    private final @Nullable IdleWatch idle;
    private volatile boolean waitsForScopes;

    WorkspaceReuse(Recording recording, RegionPolicy policy, ArenaOptions options) {
        this.arenas =
                ThreadLocal.withInitial(() -> add(new ThreadArena(recording, policy, options.trimAfter(), figures)));
        this.idle = options.releaseIdleAfter().isZero()
                ? null
                : new IdleWatch(this::releaseIdle, options.releaseIdleAfter());
    }

    /** What arenas did so far. */
    public ArenaFigures figures() {
        return figures;
    }

    /** Whether, on CUDA, threads wait for the device whenever a workspace is left; see {@link PutOffWaits}. */
    public void waitForScopes(boolean wait) {
        waitsForScopes = wait;
    }

    boolean waitsForScopes() {
        return waitsForScopes;
    }

    /** What a workspace of the ND4J at hand takes for an array of {@code bytes}. */
    public static long roundedBytes(long bytes) {
        return ScopeRecorder.rounded(bytes);
    }

    /**
     * Gives back the blocks and spilled arrays that ND4J holds for the closed network workspaces of the calling thread, and
     * has ND4J forget what sizes it learnt for them. Bytes that they need from now on come from the arena or are allocated
     * one by one. Where device memory is served from a pool, that gives back what it then does not need.
     */
    public static void releaseBlocks() {
        boolean forgotten = false;
        for (MemoryWorkspace workspace : Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread()) {
            if (workspace instanceof ForgetfulWorkspace forgetful
                    && NetworkWorkspaces.serves(workspace.getId())
                    && !workspace.isScopeActive()
                    && forgetful.holdsMemory()) {
                forgetful.forgetBlock();
                forgotten = true;
            }
        }
        if (forgotten) {
            MemoryHooks.trimServed();
        }
    }

    /**
     * Destroys the closed network workspaces of the calling thread, whoever made them: what their passes needed is forgotten, and ND4J
     * makes them anew when they are opened.
     */
    public static void destroyClosed() {
        MemoryWorkspaceManager workspaces = Nd4j.getWorkspaceManager();
        for (MemoryWorkspace workspace : List.copyOf(workspaces.getAllWorkspacesForCurrentThread())) {
            if (NetworkWorkspaces.serves(workspace.getId()) && !workspace.isScopeActive()) {
                workspaces.destroyWorkspace(workspace);
            }
        }
        MemoryHooks.trimServed();
    }

    /** Bytes of the blocks that ND4J holds for network workspaces of the calling thread. */
    public static long blockBytes() {
        return Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream()
                .filter(workspace -> NetworkWorkspaces.serves(workspace.getId()))
                .mapToLong(MemoryWorkspace::getCurrentSize)
                .sum();
    }

    /** Bytes of the arena of the calling thread. */
    public long arenaBytes() {
        return arena().blockBytes();
    }

    /** Gives back the arena of the calling thread, unless a scope is open; the next pass takes one of the size it needs. */
    public void releaseArena() {
        arena().giveBack();
    }

    /** The calling thread has destroyed its workspaces; its arena, if any, goes with them until it is needed again. */
    void threadCleared() {
        arena().giveBack();
    }

    /** Gives back all arenas, those in use when their region ends. */
    void release() {
        if (idle != null) {
            idle.close();
        }
        threadArenas().forEach(ThreadArena::release);
    }

    /** Gives back the arenas of threads that have had no scope open since {@code nanos}; they come back when needed. */
    void releaseIdle(long nanos) {
        threadArenas().forEach(arena -> arena.releaseIfIdle(nanos));
    }

    private List<ThreadArena> threadArenas() {
        synchronized (all) {
            return List.copyOf(all);
        }
    }

    /** That of the calling thread. */
    ThreadArena arena() {
        return arenas.get();
    }

    private ThreadArena add(ThreadArena arena) {
        synchronized (all) {
            all.add(arena);
        }
        return arena;
    }

    /** A workspace whose block can be taken away. */
    interface ForgetfulWorkspace {

        /** Whether there is a block, or an array of its own that the last scope left behind. */
        boolean holdsMemory();

        /** Frees the block and forgets how large it should be, as if it had never been opened: ND4J may learn that anew. */
        void forgetBlock();
    }
}
