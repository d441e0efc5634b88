// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/**
 * What is kept of a network's passes, those asked for lately. Bounded by the arrays of all of them together, {@value #MAX_ARRAYS}
 * (some 60 bytes each), not by their number: a score of a graph is a pass for each vertex, of a few arrays, and must not take the
 * place of training's one pass of a thousand. The oldest give way; the latest stays however many arrays it has.
 *
 * <p>Threading: none; owners guard it.
 */
final class LatestPasses<V> {
    static final int MAX_ARRAYS = 1 << 17;
    /** What a pass takes besides its arrays, in arrays. */
    static final int PASS_ARRAYS = 16;

    private final ToIntFunction<V> arrays;
    private final Map<RegionKey, V> passes = new LinkedHashMap<>(16, 0.75f, true);

    /** None yet; {@code arrays} tells how many arrays one has now. */
    LatestPasses(ToIntFunction<V> arrays) {
        this.arrays = arrays;
    }

    V computeIfAbsent(RegionKey key, Function<RegionKey, V> make) {
        V known = passes.get(key);
        if (known != null) {
            return known;
        }
        V fresh = make.apply(key);
        put(key, fresh);
        return fresh;
    }

    void put(RegionKey key, V pass) {
        passes.put(key, pass);
        trim();
    }

    /** The oldest first. */
    Collection<V> values() {
        return passes.values();
    }

    /** All, the oldest first. */
    Map<RegionKey, V> copy() {
        return new LinkedHashMap<>(passes);
    }

    private void trim() {
        long held = 0;
        for (V pass : passes.values()) {
            held += weight(pass);
        }
        Iterator<V> oldest = passes.values().iterator();
        while (held > MAX_ARRAYS && passes.size() > 1) {
            held -= weight(oldest.next());
            oldest.remove();
        }
    }

    private int weight(V pass) {
        return PASS_ARRAYS + arrays.applyAsInt(pass);
    }
}
