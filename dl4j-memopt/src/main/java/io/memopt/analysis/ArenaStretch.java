// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.plan.PlanProblem;
import java.util.Arrays;

/**
 * Arrays of one thread that are planned together. Time is counted in births of the thread, from the first array of the
 * stretch. Threading: confined.
 */
final class ArenaStretch {
    private static final int FIELDS = 4;
    private static final int START = 0;
    private static final int END = 1;
    private static final int BYTES = 2;
    private static final int REQUESTED = 3;
    /** Odd, with bits spread evenly: the golden ratio of 64 bits (Knuth, The Art of Computer Programming 3, 6.4). */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private final long first;
    private long[] arrays = new long[64 * FIELDS];
    private int count;
    private long last;
    private long signature = 1;

    /** Empty; {@code first} is the number of the birth that time is counted from. */
    ArenaStretch(long first) {
        this.first = first;
    }

    /** The birth at which it begins. */
    long first() {
        return first;
    }

    int count() {
        return count;
    }

    /** An array lives on {@code [start, end)} births of the thread; {@code bytes} are rounded and at least 1. */
    void add(long start, long end, long bytes, long requested) {
        int at = count++ * FIELDS;
        if (at == arrays.length) {
            arrays = Arrays.copyOf(arrays, 2 * at);
        }
        arrays[at + START] = start - first;
        arrays[at + END] = end - first;
        arrays[at + BYTES] = bytes;
        arrays[at + REQUESTED] = requested;
        last = Math.max(last, end - first);
        for (int i = START; i <= BYTES; i++) {
            signature = (signature ^ arrays[at + i]) * SPREAD;
            signature ^= signature >>> 32;
        }
    }

    /** The same for stretches with the same lives and sizes told in the same order; others differ almost surely. */
    long signature() {
        return signature;
    }

    PlanProblem problem() {
        PlanProblem.Builder problem = PlanProblem.builder();
        for (int at = 0; at < count * FIELDS; at += FIELDS) {
            problem.add(arrays[at + START], arrays[at + END], arrays[at + BYTES]);
        }
        return problem.build();
    }

    /** Rounded and requested bytes at the moment at which most rounded bytes are live. O(arrays + births). */
    long[] load() {
        long[] bytes = new long[(int) last + 1];
        long[] requested = new long[(int) last + 1];
        for (int at = 0; at < count * FIELDS; at += FIELDS) {
            bytes[(int) arrays[at + START]] += arrays[at + BYTES];
            bytes[(int) arrays[at + END]] -= arrays[at + BYTES];
            requested[(int) arrays[at + START]] += arrays[at + REQUESTED];
            requested[(int) arrays[at + END]] -= arrays[at + REQUESTED];
        }
        long[] most = new long[2];
        long now = 0;
        long asked = 0;
        for (int birth = 0; birth <= last; birth++) {
            now += bytes[birth];
            asked += requested[birth];
            if (now > most[0]) {
                most[0] = now;
                most[1] = asked;
            }
        }
        return most;
    }
}
