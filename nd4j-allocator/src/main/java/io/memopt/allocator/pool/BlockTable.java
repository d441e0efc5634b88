// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import org.jspecify.annotations.Nullable;

/** Blocks by address, in open addressing with linear probing; a lookup allocates nothing. Not thread-safe. */
final class BlockTable {
    private static final long SPREAD = 0x9E3779B97F4A7C15L; // 2^64 / golden ratio

    private @Nullable Block[] slots = new Block[1024];
    private int size;

    int size() {
        return size;
    }

    @Nullable
    Block get(long address) {
        return slots[slotOf(address)];
    }

    /** Adds {@code block}, whose address is not in the table yet. */
    void put(Block block) {
        if (2 * (size + 1) > slots.length) {
            enlarge();
        }
        slots[slotOf(block.address)] = block;
        size++;
    }

    /** The block at {@code address}, which is in the table no longer; null if it was not. */
    @Nullable
    Block remove(long address) {
        int slot = slotOf(address);
        Block removed = slots[slot];
        if (removed != null) {
            slots[slot] = null;
            size--;
            closeGap(slot);
        }
        return removed;
    }

    /** Where {@code address} is, or the empty slot where it would be put. */
    private int slotOf(long address) {
        int slot = home(address);
        Block block = slots[slot];
        while (block != null && block.address != address) {
            slot = (slot + 1) & (slots.length - 1);
            block = slots[slot];
        }
        return slot;
    }

    private int home(long address) {
        return (int) ((address * SPREAD) >>> 32) & (slots.length - 1);
    }

    /** Puts those behind the gap anew, up to the next empty slot: they may have been pushed aside. */
    private void closeGap(int gap) {
        int slot = (gap + 1) & (slots.length - 1);
        Block block = slots[slot];
        while (block != null) {
            slots[slot] = null;
            slots[slotOf(block.address)] = block;
            slot = (slot + 1) & (slots.length - 1);
            block = slots[slot];
        }
    }

    private void enlarge() {
        @Nullable Block[] before = slots;
        slots = new Block[2 * before.length];
        for (Block block : before) {
            if (block != null) {
                slots[slotOf(block.address)] = block;
            }
        }
    }
}
