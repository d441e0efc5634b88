// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/**
 * Remembers some of the keys that were added last, in a table of fixed size that costs one read to ask. Forgetting one is
 * allowed, and so is, for two threads at once, to keep one that the other removes.
 *
 * <p>Threading: any thread, without synchronisation.
 */
final class RecentKeys {
    private static final int BITS = 10;

    /** 0 is no key. */
    private final long[] slots = new long[1 << BITS];

    boolean holds(long key) {
        return slots[slot(key)] == key;
    }

    void add(long key) {
        slots[slot(key)] = key;
    }

    void remove(long key) {
        int slot = slot(key);
        if (slots[slot] == key) {
            slots[slot] = 0;
        }
    }

    /** Fibonacci hashing: native addresses differ in their middle bits. */
    private static int slot(long key) {
        return (int) ((key * 0x9E3779B97F4A7C15L) >>> (Long.SIZE - BITS));
    }
}
