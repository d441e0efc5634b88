// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import org.jspecify.annotations.Nullable;

/**
 * A stretch of addresses: handed out, free, or (a hole) without memory behind it. Knows its neighbours by address within
 * the same {@link Region} or slab; the first and the last have none on that side.
 */
final class Block {
    long address;
    long bytes;
    /** Neighbours by address. */
    @Nullable
    Block before;

    @Nullable
    Block after;

    /** Where this block is listed while it is free; null while it is handed out or a hole. */
    @Nullable
    FreeList home;
    /** Neighbours within one bin of {@link #home}. */
    @Nullable
    Block previousInBin;

    @Nullable
    Block nextInBin;
    /** While it is held: what {@link StreamHold#ticket()} said when it was freed. */
    long ticket;
    /** Small blocks lie in a slab; null for the others. */
    @Nullable
    Block slab;

    boolean hole;

    Block(long address, long bytes, @Nullable Block slab) {
        this.address = address;
        this.bytes = bytes;
        this.slab = slab;
    }

    long end() {
        return address + bytes;
    }

    /** Cuts off everything after the first {@code size} bytes and returns it as a block of its own, of the same kind. */
    Block split(long size) {
        Block rest = new Block(address + size, bytes - size, slab);
        rest.hole = hole;
        rest.ticket = ticket;
        rest.before = this;
        rest.after = after;
        if (after != null) {
            after.before = rest;
        }
        after = rest;
        bytes = size;
        return rest;
    }

    /** Takes over the block behind this one, which ceases to exist. */
    void absorbNext() {
        Block next = after;
        if (next == null) {
            throw new IllegalStateException("no block after address=" + address);
        }
        bytes += next.bytes;
        ticket = Math.max(ticket, next.ticket);
        after = next.after;
        if (after != null) {
            after.before = this;
        }
    }
}
