// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;

/** Where live detached arrays were made, and their views. Threading: confined. */
final class SiteBook {
    private final LiveSet live;
    private final IntFunction<Optional<String>> names;
    private int[] sites = new int[64];
    private long[] views = new long[64];

    SiteBook(LiveSet live, IntFunction<Optional<String>> names) {
        this.live = live;
        this.names = names;
    }

    void began(int slot) {
        if (slot >= sites.length) {
            int size = Math.max(slot + 1, 2 * sites.length);
            sites = Arrays.copyOf(sites, size);
            views = Arrays.copyOf(views, size);
        }
        sites[slot] = 0;
        views[slot] = 0;
    }

    void origin(int slot, long newViews, int site) {
        sites[slot] = site;
        views[slot] = newViews;
    }

    long views(int slot) {
        return views[slot];
    }

    /** By owner number: the place that made most of its live detached bytes. */
    Map<Integer, String> largest() {
        Map<Integer, Map<Integer, Long>> bytes = new HashMap<>();
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (live.isLive(slot) && live.kind(slot) == AllocationKind.DETACHED && sites[slot] != 0) {
                bytes.computeIfAbsent(live.owner(slot), owner -> new HashMap<>())
                        .merge(sites[slot], live.roundedBytes(slot), Long::sum);
            }
        }
        Map<Integer, String> largest = new HashMap<>();
        bytes.forEach((owner, bySite) -> bySite.entrySet().stream()
                .max(Map.Entry.<Integer, Long>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                .flatMap(most -> names.apply(most.getKey()))
                .ifPresent(name -> largest.put(owner, name)));
        return largest;
    }
}
