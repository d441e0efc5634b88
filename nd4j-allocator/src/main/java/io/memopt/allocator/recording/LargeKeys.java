// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Supplier;

/**
 * Says quickly of nearly all keys that they are of no large array, so that views of others need not be told: a Bloom filter (Bloom
 * 1970) with one hash and 32 768 bits, 4 KiB. It errs in one direction only: what was added may be taken for large when it is gone.
 *
 * <p>Once many were added a fresh filter takes over, with the keys that are known then. The one before is asked, too: it has those
 * that are on their way to whoever knows them. Threading: safe.
 */
final class LargeKeys {
    private static final int BITS_OF_HASH = 15;
    private static final int WORDS = (1 << BITS_OF_HASH) / Long.SIZE;
    /** 2^64 by the golden ratio. */
    private static final long RATIO = 0x9E3779B97F4A7C15L;

    /** Keys for one bit in eight. */
    private static final int MANY = 4096;

    private volatile AtomicLongArray current = new AtomicLongArray(WORDS);
    private volatile AtomicLongArray before = current;
    /** Keys since the current one took over; may miss some of several threads, which does no harm. */
    private int added;
    /** Of those, with how many another takes over. */
    private int full = MANY;

    /** {@code key} is of a large array or of a view of one. */
    void add(long key) {
        added++;
        set(current, key);
    }

    /** False if {@code key} is certainly none of those. */
    boolean mayContain(long key) {
        int bit = bitOf(key);
        return isSet(current, bit) || isSet(before, bit);
    }

    /** Makes the next {@link #renew} forget what is gone. One thread at a time, as all below. */
    void forgetSoon() {
        full = -1;
    }

    /** Forgets keys that are gone if there are many; {@code known} has those that are not. */
    void renew(Supplier<long[]> known) {
        if (added <= full) {
            return;
        }
        AtomicLongArray fresh = new AtomicLongArray(WORDS);
        long[] kept = known.get();
        for (long key : kept) {
            set(fresh, key);
        }
        before = current;
        current = fresh;
        added = 0;
        full = Math.max(MANY, kept.length);
    }

    private static boolean isSet(AtomicLongArray bits, int bit) {
        return (bits.getPlain(bit / Long.SIZE) & (1L << bit)) != 0;
    }

    private static void set(AtomicLongArray bits, long key) {
        int bit = bitOf(key);
        bits.getAndAccumulate(bit / Long.SIZE, 1L << bit, (word, mask) -> word | mask);
    }

    /** Fibonacci hashing, twice: addresses of native objects come at regular distances. */
    private static int bitOf(long key) {
        long once = key * RATIO;
        return (int) (((once ^ (once >>> Integer.SIZE)) * RATIO) >>> (Long.SIZE - BITS_OF_HASH));
    }
}
