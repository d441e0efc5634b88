// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;

/**
 * Host memory for the mirrors of workspace arrays that lie in an arena of the device. ND4J asks for one of every array that a
 * view is made of, and training writes to next to none of them: the memory comes from the C library and is not touched here,
 * so that the system gives pages only to what is written. Everything is handed out anew when the scope is entered again.
 *
 * <p>Threading: that of the workspace; {@link #free} may be called from any thread once nobody allocates.
 */
final class HostMirrors {
    /** Chunks double up to this size: a few dozen cover what the largest networks ask for. */
    private static final long MAX_CHUNK_BYTES = 1L << 30;

    private final MemoryLedger ledger;
    private final WorkspaceAccount account;
    private final PageableMirrors memory = new PageableMirrors();
    private final List<Chunk> chunks = new ArrayList<>();
    private int current;
    private long used;

    private record Chunk(long address, long bytes) {}

    HostMirrors(MemoryLedger ledger, WorkspaceAccount account) {
        this.ledger = ledger;
        this.account = account;
    }

    /** Room for an array; null when there is no memory. Its content is undefined. */
    synchronized @Nullable PagedPointer place(long bytes, long elements) {
        long rounded = PageableMirrors.aligned(bytes);
        while (current < chunks.size() && used + rounded > chunks.get(current).bytes()) {
            current++;
            used = 0;
        }
        if (current == chunks.size() && !grow(rounded)) {
            return null;
        }
        Chunk chunk = chunks.get(current);
        PagedPointer place =
                new PagedPointer(new PagedPointer(chunk.address()), chunk.bytes()).withOffset(used, elements);
        used += rounded;
        return place;
    }

    /** All arrays have ended. */
    synchronized void clear() {
        current = 0;
        used = 0;
    }

    /** Gives the memory back. */
    synchronized void free() {
        for (Chunk chunk : chunks) {
            ledger.freed(chunk.address());
            memory.free(chunk.address());
        }
        chunks.clear();
        clear();
    }

    private boolean grow(long atLeast) {
        long doubled =
                chunks.isEmpty() ? 1 << 20 : 2 * chunks.get(chunks.size() - 1).bytes();
        long bytes = Math.max(atLeast, Math.min(MAX_CHUNK_BYTES, doubled));
        long address = memory.allocate(bytes);
        if (address == 0) {
            return false;
        }
        chunks.add(new Chunk(address, bytes));
        book(address, bytes);
        return true;
    }

    private void book(long address, long bytes) {
        ThreadContext context = ThreadContext.current();
        context.beginIntent(AllocationKind.WORKSPACE_BLOCK, account);
        try {
            ledger.allocated(MemorySpace.HOST, address, address, bytes, bytes);
        } finally {
            context.endIntent();
        }
    }
}
