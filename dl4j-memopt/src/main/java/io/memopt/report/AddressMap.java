// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The addresses that a recording used in one memory space, with the unused ranges between them folded: address to
 * <em>place</em>, a number from 0 that grows with the address.
 *
 * <p>Memory: bounded by {@value #MOST_REGIONS} regions; where there would be more, smaller gaps are no longer folded.
 */
final class AddressMap {
    private static final int MOST_REGIONS = 4096;
    private static final long FIRST_GAP = 1 << 16;

    /** Part of the axis that all folds together may take. */
    private static final double FOLDS = 0.1;

    private static final int FEW_REGIONS = 12;

    private final TreeMap<Long, Long> ends = new TreeMap<>();
    private long gap = FIRST_GAP;
    private long lastStart;
    private long lastEnd;
    private long[] starts = {};
    private long[] sizes = {};
    private long[] places = {};
    private long height;

    void use(long address, long bytes) {
        long end = address + Math.max(1, bytes);
        if (address >= lastStart && end <= lastEnd) {
            return;
        }
        Map.Entry<Long, Long> before = ends.floorEntry(address);
        lastStart = before != null && before.getValue() + gap >= address ? before.getKey() : address;
        lastEnd = before != null && before.getValue() + gap >= address ? Math.max(before.getValue(), end) : end;
        for (Map.Entry<Long, Long> next = ends.higherEntry(lastStart);
                next != null && next.getKey() <= lastEnd + gap;
                next = ends.higherEntry(lastStart)) {
            lastEnd = Math.max(lastEnd, next.getValue());
            ends.remove(next.getKey());
        }
        ends.put(lastStart, lastEnd);
        if (ends.size() > MOST_REGIONS) {
            coarsen();
        }
    }

    /** Ends the collection; from now on addresses have places. */
    void complete() {
        int count = ends.size();
        starts = new long[count];
        sizes = new long[count];
        places = new long[count];
        long used = ends.entrySet().stream()
                .mapToLong(region -> region.getValue() - region.getKey())
                .sum();
        long fold = (long) (used * FOLDS / Math.max(FEW_REGIONS, count));
        int i = 0;
        long before = Long.MAX_VALUE;
        for (Map.Entry<Long, Long> region : ends.entrySet()) {
            starts[i] = region.getKey();
            sizes[i] = region.getValue() - region.getKey();
            height += i == 0 ? 0 : Math.min(fold, starts[i] - before);
            places[i] = height;
            height += sizes[i];
            before = region.getValue();
            i++;
        }
    }

    /** Sum of all regions and folds. */
    long height() {
        return height;
    }

    /** The place of an address that was {@linkplain #use used}; -1 for others. */
    long placeOf(long address) {
        int found = Arrays.binarySearch(starts, address);
        int region = found >= 0 ? found : -found - 2;
        return region >= 0 && address < starts[region] + sizes[region] ? places[region] + address - starts[region] : -1;
    }

    /** Start, size and place of each region, by address. */
    List<long[]> regions() {
        List<long[]> regions = new ArrayList<>();
        for (int i = 0; i < starts.length; i++) {
            regions.add(new long[] {starts[i], sizes[i], places[i]});
        }
        return regions;
    }

    private void coarsen() {
        while (ends.size() > MOST_REGIONS / 2) {
            gap *= 2;
            TreeMap<Long, Long> merged = new TreeMap<>();
            for (Map.Entry<Long, Long> region : ends.entrySet()) {
                Map.Entry<Long, Long> last = merged.lastEntry();
                if (last != null && last.getValue() + gap >= region.getKey()) {
                    merged.put(last.getKey(), region.getValue());
                } else {
                    merged.put(region.getKey(), region.getValue());
                }
            }
            ends.clear();
            ends.putAll(merged);
        }
        lastStart = 0;
        lastEnd = 0;
    }
}
