// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** Counts copies by direction, in all and in bins of equal time. Memory: the bins and the page-locked allocations. */
final class TransferBook {
    private static final int BINS = 256;
    private static final TransferDirection[] DIRECTIONS = TransferDirection.values();

    private final LiveSet live;
    private final long start;
    private final long width;
    private final Sums[] all = new Sums[DIRECTIONS.length];
    private final Sums[][] bins = new Sums[BINS][DIRECTIONS.length];
    /** Threads that are in a phase of a network. */
    private final Set<Long> computing = new HashSet<>();
    /** Page-locked memory: start to end. */
    private final TreeMap<Long, Long> pinned = new TreeMap<>();

    private static final class Sums {
        private long copies;
        private long bytes;
        private long nanos;
        private long overlapped;
        private long pinned;
    }

    TransferBook(LiveSet live, long firstNanos, long lastNanos) {
        this.live = live;
        this.start = firstNanos;
        this.width = Math.max(1, (lastNanos - firstNanos) / BINS + 1);
    }

    void context(long thread, Phase phase) {
        if (phase == Phase.NONE || phase == Phase.OTHER) {
            computing.remove(thread);
        } else {
            computing.add(thread);
        }
    }

    void began(int slot) {
        if (live.space(slot) == MemorySpace.PINNED && live.kind(slot).ownsMemory()) {
            pinned.put(live.address(slot), live.address(slot) + live.roundedBytes(slot));
        }
    }

    void ended(int slot) {
        if (live.space(slot) == MemorySpace.PINNED && live.kind(slot).ownsMemory()) {
            pinned.remove(live.address(slot));
        }
    }

    /** @param address where the bytes went */
    void copied(TransferDirection direction, long time, long thread, long address, long bytes, long nanos) {
        boolean overlapped = !computing.isEmpty() && !computing.contains(thread);
        Map.Entry<Long, Long> block = pinned.floorEntry(address);
        boolean intoPinned = block != null && address < block.getValue();
        int bin = (int) Math.max(0, Math.min(BINS - 1, (time - start) / width));
        for (Sums[] sums : List.of(all, bins[bin])) {
            Sums sum = sums[direction.ordinal()];
            if (sum == null) {
                sum = new Sums();
                sums[direction.ordinal()] = sum;
            }
            sum.copies++;
            sum.bytes += bytes;
            sum.nanos += nanos;
            sum.overlapped += overlapped ? bytes : 0;
            sum.pinned += intoPinned ? bytes : 0;
        }
    }

    List<TransferRow> rows() {
        List<TransferRow> rows = new ArrayList<>();
        for (TransferDirection direction : DIRECTIONS) {
            Sums sum = all[direction.ordinal()];
            if (sum != null) {
                boolean toHost =
                        direction == TransferDirection.DEVICE_TO_HOST || direction == TransferDirection.HOST_TO_HOST;
                OptionalLong intoPinned = toHost ? OptionalLong.of(sum.pinned) : OptionalLong.empty();
                rows.add(new TransferRow(direction, sum.copies, sum.bytes, sum.nanos, sum.overlapped, intoPinned));
            }
        }
        return rows;
    }

    /** Bins in which something was copied, in order of time. */
    List<TransferBin> bins() {
        List<TransferBin> filled = new ArrayList<>();
        for (int i = 0; i < BINS; i++) {
            for (TransferDirection direction : DIRECTIONS) {
                Sums sum = bins[i][direction.ordinal()];
                if (sum != null) {
                    long from = start + i * width;
                    filled.add(new TransferBin(direction, from, from + width, sum.copies, sum.bytes, sum.nanos));
                }
            }
        }
        return filled;
    }
}
