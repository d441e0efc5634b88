// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** When each iteration began and ended, as {@link System#nanoTime()}. Threading: confined. */
final class Steps {
    private final long[] begins;
    private final long[] ends;
    private final int warmup;

    Steps(int iterations, int warmup) {
        begins = new long[iterations];
        ends = new long[iterations];
        this.warmup = warmup;
    }

    void run(int iteration, Runnable step) {
        begins[iteration] = System.nanoTime();
        step.run();
        ends[iteration] = System.nanoTime();
    }

    /** The iteration from 0 that ends at {@code nanos} or next; the last one for later moments. */
    int at(long nanos) {
        int found = Arrays.binarySearch(ends, nanos);
        return Math.min(found < 0 ? -found - 1 : found, ends.length - 1);
    }

    /** Allocations made inside an iteration after the warm-up, largest first. */
    List<Span> afterWarmup(List<Span> spans) {
        List<Span> inside = new ArrayList<>();
        for (Span span : spans) {
            int step = at(span.startNanos);
            boolean during = span.startNanos - begins[step] >= 0 && span.startNanos - ends[step] <= 0;
            if (during && step >= warmup) {
                inside.add(span);
            }
        }
        inside.sort(Comparator.comparingLong((Span span) -> -span.bytes).thenComparingLong(span -> span.startNanos));
        return inside;
    }

    /** Largest sum of {@code spans}, those that the collector freed taken as gone with their iteration. */
    long promptPeak(List<Span> spans) {
        List<long[]> changes = new ArrayList<>();
        for (Span span : spans) {
            changes.add(new long[] {span.startNanos, span.bytes});
            if (span.endNanos != Long.MAX_VALUE) {
                changes.add(new long[] {end(span), -span.bytes});
            }
        }
        changes.sort(Comparator.<long[]>comparingLong(change -> change[0]).thenComparingLong(change -> change[1]));
        long now = 0;
        long peak = 0;
        for (long[] change : changes) {
            now += change[1];
            peak = Math.max(peak, now);
        }
        return peak;
    }

    /** Whether the collector came by in the middle of an iteration must not matter either. */
    private long end(Span span) {
        long stepEnd = ends[at(span.startNanos)];
        return span.isGarbage() && span.startNanos - stepEnd <= 0 ? stepEnd : span.endNanos;
    }
}
