// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A map from native addresses, made for the thousands of insertions and, above all, unsuccessful look-ups of a training step:
 * no key object, no entry object, and what lies within one block of 512 bytes shares two or three cache lines of the table. Open
 * addressing with linear probing, at most a quarter full; removal moves later entries back (Knuth 6.4, algorithm R). 0 stands for
 * {@link Long#MIN_VALUE}; neither is an address.
 *
 * <p>Threading: one thread at a time. Memory: at most 96 B for each of the most entries there ever were, 768 B at least.
 */
final class AddressMap<V> {
    private static final int BLOCK_BITS = 9;
    private static final int ALIGNMENT_BITS = 4;
    private static final int SLOTS_OF_BLOCK = 1 << (BLOCK_BITS - ALIGNMENT_BITS);

    /** 0 where there is no entry. */
    private long[] keys = new long[2 * SLOTS_OF_BLOCK];

    private @Nullable Object[] values = new @Nullable Object[keys.length];
    private int size;

    @Nullable
    V get(long address) {
        return valueAt(slotOf(keyOf(address), keys));
    }

    /** Returns what was there before. */
    @Nullable
    V put(long address, V value) {
        long key = keyOf(address);
        int slot = slotOf(key, keys);
        V before = valueAt(slot);
        keys[slot] = key;
        values[slot] = value;
        if (before == null && 4 * ++size > keys.length) {
            grow();
        }
        return before;
    }

    /** Returns what was there. */
    @Nullable
    V remove(long address) {
        int slot = slotOf(keyOf(address), keys);
        V before = valueAt(slot);
        if (before != null) {
            size--;
            close(slot);
        }
        return before;
    }

    /** A copy. */
    List<V> values() {
        List<V> all = new ArrayList<>();
        for (int slot = 0; slot < keys.length; slot++) {
            V value = valueAt(slot);
            if (value != null) {
                all.add(value);
            }
        }
        return Collections.unmodifiableList(all);
    }

    /** As {@link #values}, by address. */
    Map<Long, V> entries() {
        Map<Long, V> all = new HashMap<>();
        for (int slot = 0; slot < keys.length; slot++) {
            V value = valueAt(slot);
            if (value != null) {
                all.put(addressOf(keys[slot]), value);
            }
        }
        return Collections.unmodifiableMap(all);
    }

    /** Addresses of those that pass {@code test}. */
    long[] keys(Predicate<V> test) {
        long[] all = new long[size];
        int count = 0;
        for (int slot = 0; slot < keys.length; slot++) {
            V value = valueAt(slot);
            if (value != null && test.test(value)) {
                all[count++] = addressOf(keys[slot]);
            }
        }
        return Arrays.copyOf(all, count);
    }

    int size() {
        return size;
    }

    @SuppressWarnings("unchecked") // put() alone writes values
    private @Nullable V valueAt(int slot) {
        return (V) values[slot];
    }

    private static long addressOf(long key) {
        return key == Long.MIN_VALUE ? 0 : key;
    }

    private static long keyOf(long address) {
        return address == 0 ? Long.MIN_VALUE : address;
    }

    /** Where the key is, or the empty slot where it would be put. */
    private static int slotOf(long key, long[] keys) {
        int slot = home(key, keys.length);
        while (keys[slot] != key && keys[slot] != 0) {
            slot = (slot + 1) & (keys.length - 1);
        }
        return slot;
    }

    /** Fibonacci hashing of the block in which the key lies, and the place in the block. */
    private static int home(long key, int slots) {
        int block = (int) (((key >>> BLOCK_BITS) * 0x9E3779B97F4A7C15L) >>> Integer.SIZE) & -SLOTS_OF_BLOCK;
        int inBlock = (int) (key >>> ALIGNMENT_BITS) & (SLOTS_OF_BLOCK - 1);
        return (block | inBlock) & (slots - 1);
    }

    /** Empties {@code hole} and moves into it whoever could not have its place because of it. */
    private void close(int hole) {
        int mask = keys.length - 1;
        int empty = hole;
        for (int slot = (hole + 1) & mask; keys[slot] != 0; slot = (slot + 1) & mask) {
            int passed = (slot - home(keys[slot], keys.length)) & mask;
            int distance = (slot - empty) & mask;
            if (passed >= distance) {
                keys[empty] = keys[slot];
                values[empty] = values[slot];
                empty = slot;
            }
        }
        keys[empty] = 0;
        values[empty] = null;
    }

    private void grow() {
        long[] old = keys;
        long[] table = new long[2 * old.length];
        @Nullable Object[] moved = new @Nullable Object[table.length];
        for (int slot = 0; slot < old.length; slot++) {
            if (old[slot] != 0) {
                int at = slotOf(old[slot], table);
                table[at] = old[slot];
                moved[at] = values[slot];
            }
        }
        values = moved;
        keys = table;
    }
}
