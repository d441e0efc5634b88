// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Numbers places in code from 1; 0 means "unknown". Bounded: what exceeds {@value #CAPACITY} places is unknown.
 *
 * <p>Threading: all methods may be called from any thread; look-ups of known places do not lock.
 */
public final class SiteTable {
    /** "Unknown". */
    public static final int UNKNOWN = 0;

    /** A large program has a few hundred. */
    static final int CAPACITY = 1 << 12;

    private final ConcurrentHashMap<String, Integer> numbers = new ConcurrentHashMap<>();
    private final AtomicReferenceArray<@Nullable String> sites = new AtomicReferenceArray<>(CAPACITY);
    private int last;

    /** The number of {@code site}, given out on first sight. */
    public int idOf(@Nullable String site) {
        if (site == null || site.isEmpty()) {
            return UNKNOWN;
        }
        Integer known = numbers.get(site);
        return known != null ? known : register(site);
    }

    /** The place with this number; {@code ""} when there is none. */
    public String siteOf(int id) {
        String site = id <= 0 || id >= CAPACITY ? null : sites.get(id);
        return site == null ? "" : site;
    }

    private synchronized int register(String site) {
        Integer known = numbers.get(site);
        if (known != null) {
            return known;
        }
        if (last + 1 >= CAPACITY) {
            return UNKNOWN;
        }
        last++;
        sites.set(last, site);
        numbers.put(site, last);
        return last;
    }
}
