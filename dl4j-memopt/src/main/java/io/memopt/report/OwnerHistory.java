// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What every owner had at up to {@value #MOST_SAMPLES} moments: ends of iterations where there are any, else equally many
 * events apart. From these come slopes; between the moments nothing is known.
 */
final class OwnerHistory {
    static final int MOST_SAMPLES = 256;
    private static final int SPACES = MemorySpace.values().length;

    /** Growth over fewer samples is no trend. */
    private static final int FEWEST = 4;

    /** Change of live bytes over the second half of the samples. {@code fit} is R squared: 1 for a perfect line. */
    record Slope(double bytesPerStep, double fit) {
        static final Slope NONE = new Slope(0, 0);
    }

    private final long[] times = new long[MOST_SAMPLES];
    private final List<long[]> samples = new ArrayList<>();
    private long[] live = new long[64];
    private int size;

    void change(int owner, MemorySpace space, long bytes) {
        int key = owner * SPACES + space.ordinal();
        if (key >= live.length) {
            live = Arrays.copyOf(live, Math.max(key + 1, live.length * 2));
        }
        live[key] += bytes;
    }

    void sample(long time) {
        if (size < MOST_SAMPLES) {
            times[size++] = time;
            samples.add(live.clone());
        }
    }

    int size() {
        return size;
    }

    long liveBytes(int owner, MemorySpace space) {
        return at(live, owner, space);
    }

    long[] of(int owner, MemorySpace space) {
        return samples.stream().mapToLong(sample -> at(sample, owner, space)).toArray();
    }

    long[] times() {
        return Arrays.copyOf(times, size);
    }

    /**
     * Least squares over the second half, for the first holds the warm-up.
     *
     * @param steps iterations (or seconds, or whatever the slope shall be per) between two samples
     */
    static Slope slope(long[] values, double steps) {
        int from = values.length / 2;
        int count = values.length - from;
        if (count < FEWEST || steps <= 0) {
            return Slope.NONE;
        }
        double meanX = (count - 1) / 2.0;
        double meanY = Arrays.stream(values, from, values.length).average().orElse(0);
        double xy = 0;
        double xx = 0;
        double yy = 0;
        for (int i = 0; i < count; i++) {
            double x = i - meanX;
            double y = values[from + i] - meanY;
            xy += x * y;
            xx += x * x;
            yy += y * y;
        }
        return yy == 0 ? Slope.NONE : new Slope(xy / xx / steps, xy * xy / (xx * yy));
    }

    private static long at(long[] values, int owner, MemorySpace space) {
        int key = owner * SPACES + space.ordinal();
        return key < values.length ? values[key] : 0;
    }
}
