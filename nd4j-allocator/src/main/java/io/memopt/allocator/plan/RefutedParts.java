// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * Parts of a search that have no solution, known by 128 bits of hash: a table of fixed size in which a later entry replaces
 * an earlier one of the same place. Memory: 16 bytes for each of its places.
 */
final class RefutedParts {
    private final long[] keys;
    private final int shift;

    /** Makes room for {@code 2^bits} parts. */
    RefutedParts(int bits) {
        keys = new long[2 << bits];
        shift = 64 - bits;
    }

    boolean contains(long key, long key2) {
        int at = (int) (mix(key) >>> shift) << 1;
        return keys[at] == key && keys[at + 1] == key2;
    }

    void add(long key, long key2) {
        int at = (int) (mix(key) >>> shift) << 1;
        keys[at] = key;
        keys[at + 1] = key2;
    }

    /** Spreads every bit over all bits; the finisher of SplitMix64 (S. Vigna). */
    static long mix(long value) {
        long z = value + 0x9E3779B97F4A7C15L;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
