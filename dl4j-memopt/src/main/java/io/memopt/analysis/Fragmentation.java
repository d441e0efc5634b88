// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Counts the holes in workspace blocks at one moment. O(n log n) in the live allocations. */
final class Fragmentation {
    private static final int LOG2_SIZES = 48;

    private final LiveSet live;
    private final long[] holes = new long[LOG2_SIZES];
    private long count;
    private long free;
    private long largest;

    private Fragmentation(LiveSet live) {
        this.live = live;
    }

    static FragmentationSample sample(LiveSet live, MemorySpace space, long timeNanos) {
        return new Fragmentation(live).sample(space, timeNanos);
    }

    private FragmentationSample sample(MemorySpace space, long timeNanos) {
        List<Integer> blocks = new ArrayList<>();
        List<Integer> arrays = new ArrayList<>();
        long blockBytes = 0;
        long rounding = 0;
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (!live.isLive(slot) || live.space(slot) != space) {
                continue;
            }
            if (live.kind(slot) == AllocationKind.WORKSPACE_BLOCK) {
                blocks.add(slot);
                blockBytes += live.roundedBytes(slot);
                continue;
            }
            rounding += live.roundedBytes(slot) - live.requestedBytes(slot);
            if (live.kind(slot) == AllocationKind.WORKSPACE_ARRAY) {
                arrays.add(slot);
            }
        }
        Comparator<Integer> byAddress = Comparator.comparingLong(live::address);
        blocks.sort(byAddress);
        arrays.sort(byAddress);
        int next = 0;
        for (int block : blocks) {
            next = holesOf(block, arrays, next);
        }
        List<Long> histogram = new ArrayList<>();
        for (long holesOfSize : holes) {
            histogram.add(holesOfSize);
        }
        while (!histogram.isEmpty() && histogram.get(histogram.size() - 1) == 0) {
            histogram.remove(histogram.size() - 1);
        }
        return new FragmentationSample(
                timeNanos,
                live.event(),
                live.reservedBytes(space),
                live.inUseBytes(space),
                blockBytes,
                free,
                largest,
                count,
                rounding,
                Collections.unmodifiableList(histogram));
    }

    /** Sweeps over one block; returns the first array that begins behind it. */
    private int holesOf(int block, List<Integer> arrays, int from) {
        long at = live.address(block);
        long end = at + live.roundedBytes(block);
        int next = from;
        while (next < arrays.size() && live.address(arrays.get(next)) < end) {
            int array = arrays.get(next++);
            hole(live.address(array) - at);
            at = Math.max(at, Math.min(end, live.address(array) + live.roundedBytes(array)));
        }
        hole(end - at);
        return next;
    }

    private void hole(long bytes) {
        if (bytes > 0) {
            holes[Math.min(LOG2_SIZES - 1, 63 - Long.numberOfLeadingZeros(bytes))]++;
            count++;
            free += bytes;
            largest = Math.max(largest, bytes);
        }
    }
}
