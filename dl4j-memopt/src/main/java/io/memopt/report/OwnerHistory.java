// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What every owner had at up to {@value #MOST_SAMPLES} moments: ends of iterations where there are any, else equally many
 * events apart. Between them nothing is known.
 */
final class OwnerHistory {
    static final int MOST_SAMPLES = 256;
    private static final int SPACES = MemorySpace.values().length;

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

    private static long at(long[] values, int owner, MemorySpace space) {
        int key = owner * SPACES + space.ordinal();
        return key < values.length ? values[key] : 0;
    }
}
