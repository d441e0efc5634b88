// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;
import java.util.Arrays;

/**
 * A memory space over time in at most some {@value #MOST_BINS} bins of about as many events each, so that busy times get
 * more of them. A bin holds the composition at its fullest moment, which therefore is exact, and the most that was reserved
 * at any moment of it. Idle time gets a bin of its own and does not stretch the one before.
 */
final class TimelineBins {
    static final int MOST_BINS = 1 << 16;

    /** Pauses longer than this part of the recording get their own bin. */
    private static final int PAUSES = 2048;

    private static final int CATEGORIES = Category.values().length;

    private final long events;
    private final long pauseNanos;
    private final long binsWanted;
    private long[] starts = new long[1 << 10];
    private long[] fullest = new long[1 << 10];
    private long[] reserved = new long[1 << 10];
    private long[] used = new long[1 << 10];
    private final long[][] byCategory = new long[CATEGORIES][1 << 10];
    private int size;
    private long bin = -1;
    private long last = -1;

    /**
     * Empty bins.
     *
     * @param events number of events that will be added, at least 1
     */
    TimelineBins(long events, long rangeNanos) {
        this.events = Math.max(1, events);
        this.pauseNanos = rangeNanos / PAUSES;
        this.binsWanted = Math.min(this.events, MOST_BINS);
    }

    /** To be called ahead of each event with the figures of before. */
    void pause(long time, SpaceTotals totals) {
        if (last >= 0 && time - last > pauseNanos) {
            append(last, totals);
            bin = -1;
        }
    }

    /** Takes the figures after event number {@code index}, counted from 0. */
    void add(long index, long time, SpaceTotals totals) {
        long now = index * binsWanted / events;
        if (now != bin) {
            bin = now;
            append(time, totals);
        } else {
            int at = size - 1;
            reserved[at] = Math.max(reserved[at], totals.reserved);
            if (totals.used > used[at]) {
                fill(at, time, totals);
            }
        }
        last = time;
    }

    /** What happens from the last event on. */
    void complete(SpaceTotals totals) {
        if (last >= 0) {
            append(last, totals);
        }
    }

    int size() {
        return size;
    }

    String pack() {
        Columns columns = new Columns();
        columns.addDeltas(starts, size).addDeltas(fullest, size).addDeltas(reserved, size);
        for (long[] category : byCategory) {
            columns.addDeltas(category, size);
        }
        return columns.pack();
    }

    private void append(long time, SpaceTotals totals) {
        if (size == starts.length) {
            int larger = size * 2;
            starts = Arrays.copyOf(starts, larger);
            fullest = Arrays.copyOf(fullest, larger);
            reserved = Arrays.copyOf(reserved, larger);
            used = Arrays.copyOf(used, larger);
            for (int i = 0; i < CATEGORIES; i++) {
                byCategory[i] = Arrays.copyOf(byCategory[i], larger);
            }
        }
        starts[size] = time;
        reserved[size] = totals.reserved;
        fill(size++, time, totals);
    }

    private void fill(int at, long time, SpaceTotals totals) {
        fullest[at] = time;
        used[at] = totals.used;
        for (int i = 0; i < CATEGORIES; i++) {
            byCategory[i][at] = totals.byCategory[i];
        }
    }
}
