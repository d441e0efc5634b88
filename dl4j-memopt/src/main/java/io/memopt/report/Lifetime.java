// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import org.jspecify.annotations.Nullable;

/** Some bytes of one owner from their birth to their death, {@code [birth, death)} in page time. */
final class Lifetime {
    /** Death of what is still live at the end. */
    static final long NEVER = -1;

    final AllocationKind kind;
    final MemorySpace space;
    final int owner;
    final int workspace;
    final long address;
    final long bytes;
    final long birth;

    /** Number of the event of birth. */
    final long birthEvent;

    /** Birth of the allocation; earlier than {@link #birth} when its owner became known later. */
    final long allocated;

    /** Another one that cannot be told apart, for its address is not known. */
    @Nullable
    Lifetime twin;

    Lifetime(
            AllocationKind kind,
            MemorySpace space,
            int owner,
            int workspace,
            long address,
            long bytes,
            long birth,
            long birthEvent,
            long allocated) {
        this.kind = kind;
        this.space = space;
        this.owner = owner;
        this.workspace = workspace;
        this.address = address;
        this.bytes = bytes;
        this.birth = birth;
        this.birthEvent = birthEvent;
        this.allocated = allocated;
    }

    boolean isBlock() {
        return kind == AllocationKind.WORKSPACE_BLOCK;
    }
}
