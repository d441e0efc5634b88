// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/** Counts copies by direction, in all and in bins of equal time. Memory: the bins. */
final class TransferBook {
    private static final int BINS = 256;
    private static final TransferDirection[] DIRECTIONS = TransferDirection.values();

    private final long start;
    private final long width;
    private final Sums[] all = new Sums[DIRECTIONS.length];
    private final Sums[][] bins = new Sums[BINS][DIRECTIONS.length];
    /** Threads that are in a phase of a network. */
    private final Set<Long> computing = new HashSet<>();

    private static final class Sums {
        private long copies;
        private long bytes;
        private long nanos;
        private long overlapped;
        /** Bytes of copies that tell where their host end lies. */
        private long told;

        private long pinned;
    }

    TransferBook(long firstNanos, long lastNanos) {
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

    void copied(int code, long time, long thread, long bytes, long nanos) {
        TransferDirection direction = EventCode.direction(code);
        MemorySpace hostEnd = EventCode.hostEnd(code);
        boolean overlapped = !computing.isEmpty() && !computing.contains(thread);
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
            sum.told += hostEnd == null ? 0 : bytes;
            sum.pinned += hostEnd == MemorySpace.PINNED ? bytes : 0;
        }
    }

    List<TransferRow> rows() {
        List<TransferRow> rows = new ArrayList<>();
        for (TransferDirection direction : DIRECTIONS) {
            Sums sum = all[direction.ordinal()];
            if (sum != null) {
                OptionalLong pinned = sum.told == sum.bytes ? OptionalLong.of(sum.pinned) : OptionalLong.empty();
                rows.add(new TransferRow(direction, sum.copies, sum.bytes, sum.nanos, sum.overlapped, pinned));
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
