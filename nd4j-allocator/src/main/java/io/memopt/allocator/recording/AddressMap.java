// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A map from native addresses, made for the thousands of insertions and, above all, unsuccessful look-ups of a training step:
 * no key object, no entry object, and what lies within one block of 512 bytes shares two or three cache lines of the table.
 * 0 stands for {@link Long#MIN_VALUE}; neither is an address.
 *
 * <p>Threading: any thread; one short monitor for each of {@value #STRIPES} parts. Memory: at most 96 B for each of the most
 * entries there ever were, 13 KiB at least.
 */
final class AddressMap<V> {
    private static final int STRIPES = 16;
    private static final int STRIPE_BITS = 4;
    private static final int BLOCK_BITS = 9;

    private final Stripe<V>[] stripes = stripes();

    @SuppressWarnings({"unchecked", "rawtypes"}) // there are no arrays of generic types
    private static <V> Stripe<V>[] stripes() {
        Stripe<V>[] all = new Stripe[STRIPES];
        Arrays.setAll(all, i -> new Stripe<>());
        return all;
    }

    @Nullable
    V get(long address) {
        Stripe<V> stripe = stripeOf(address);
        long key = keyOf(address);
        return stripe.surelyLacks(key) ? null : stripe.get(key);
    }

    /** Returns what was there before. */
    @Nullable
    V put(long address, V value) {
        return stripeOf(address).put(keyOf(address), value);
    }

    /** Returns what was there. */
    @Nullable
    V remove(long address) {
        return stripeOf(address).remove(keyOf(address));
    }

    /** A copy. Entries that come or go meanwhile may be in it or not. */
    List<V> values() {
        List<V> all = new ArrayList<>();
        for (Stripe<V> stripe : stripes) {
            stripe.addTo(all);
        }
        return Collections.unmodifiableList(all);
    }

    /** As {@link #values}, by address. */
    Map<Long, V> entries() {
        Map<Long, V> all = new HashMap<>();
        for (Stripe<V> stripe : stripes) {
            stripe.addTo(all);
        }
        return Collections.unmodifiableMap(all);
    }

    int size() {
        int size = 0;
        for (Stripe<V> stripe : stripes) {
            size += stripe.size();
        }
        return size;
    }

    private Stripe<V> stripeOf(long address) {
        return stripes[(int) (mixedBlock(keyOf(address)) >>> (Long.SIZE - STRIPE_BITS))];
    }

    private static long keyOf(long address) {
        return address == 0 ? Long.MIN_VALUE : address;
    }

    /** Fibonacci hashing of the block in which the key lies. */
    private static long mixedBlock(long key) {
        return (key >>> BLOCK_BITS) * 0x9E3779B97F4A7C15L;
    }

    /** Open addressing with linear probing, at most a quarter full; removal moves later entries back (Knuth 6.4, algorithm R). */
    private static final class Stripe<V> {
        private static final int ALIGNMENT_BITS = 4;
        private static final int SLOTS_OF_BLOCK = 1 << (BLOCK_BITS - ALIGNMENT_BITS);

        /** 0 where there is no entry. Never replaced by one in which a key is missing. */
        private volatile long[] keys = new long[2 * SLOTS_OF_BLOCK];

        private @Nullable Object[] values = new @Nullable Object[keys.length];
        private int size;

        /**
         * Needs no monitor: whoever knows of an entry was told of it after it was put, so that it sees this slot taken. No
         * call empties the home slot of an entry, not even for a moment.
         */
        boolean surelyLacks(long key) {
            long[] seen = keys;
            return seen[home(key, seen.length)] == 0;
        }

        synchronized @Nullable V get(long key) {
            return valueAt(slotOf(key));
        }

        synchronized @Nullable V put(long key, V value) {
            int slot = slotOf(key);
            V before = valueAt(slot);
            keys[slot] = key;
            values[slot] = value;
            if (before == null && 4 * ++size > keys.length) {
                grow();
            }
            return before;
        }

        synchronized @Nullable V remove(long key) {
            int slot = slotOf(key);
            V before = valueAt(slot);
            if (before != null) {
                size--;
                close(slot);
            }
            return before;
        }

        synchronized int size() {
            return size;
        }

        synchronized void addTo(List<V> all) {
            for (int slot = 0; slot < keys.length; slot++) {
                V value = valueAt(slot);
                if (value != null) {
                    all.add(value);
                }
            }
        }

        synchronized void addTo(Map<Long, V> all) {
            for (int slot = 0; slot < keys.length; slot++) {
                V value = valueAt(slot);
                if (value != null) {
                    all.put(keys[slot] == Long.MIN_VALUE ? 0 : keys[slot], value);
                }
            }
        }

        @SuppressWarnings("unchecked") // put() alone writes values
        private @Nullable V valueAt(int slot) {
            return (V) values[slot];
        }

        /** Where the key is, or the empty slot where it would be put. */
        private int slotOf(long key) {
            return slotOf(key, keys);
        }

        private static int slotOf(long key, long[] keys) {
            int slot = home(key, keys.length);
            while (keys[slot] != key && keys[slot] != 0) {
                slot = (slot + 1) & (keys.length - 1);
            }
            return slot;
        }

        private static int home(long key, int slots) {
            int block = (int) (mixedBlock(key) >>> (Long.SIZE - STRIPE_BITS - Integer.SIZE)) & -SLOTS_OF_BLOCK;
            int inBlock = (int) (key >>> ALIGNMENT_BITS) & (SLOTS_OF_BLOCK - 1);
            return (block | inBlock) & (slots - 1);
        }

        /** Empties {@code hole} and moves into it whoever could not have its place because of it. */
        private void close(int hole) {
            long[] table = keys;
            int mask = table.length - 1;
            int empty = hole;
            for (int slot = (hole + 1) & mask; table[slot] != 0; slot = (slot + 1) & mask) {
                int passed = (slot - home(table[slot], table.length)) & mask;
                int distance = (slot - empty) & mask;
                if (passed >= distance) {
                    table[empty] = table[slot];
                    values[empty] = values[slot];
                    empty = slot;
                }
            }
            table[empty] = 0;
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
}
