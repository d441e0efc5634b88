// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.util.stream.IntStream;

/** Orders of importance that greedy methods and the search follow. */
final class Orders {
    private Orders() {}

    /** Larger first, longer-lived among equals. */
    static int[] bySize(Timeline time) {
        return descending(time, i -> time.problem.size(i), i -> lifetime(time, i));
    }

    /** Longer-lived first, larger among equals. */
    static int[] byLifetime(Timeline time) {
        return descending(time, i -> lifetime(time, i), i -> time.problem.size(i));
    }

    /** Larger size times lifetime first. */
    static int[] byArea(Timeline time) {
        return descending(time, i -> (double) time.problem.size(i) * lifetime(time, i), i -> time.problem.size(i));
    }

    /** Those that live at the busiest moments first, longer-lived among equals. */
    static int[] byLoad(Timeline time) {
        long[] busiest = busiest(time);
        return descending(time, i -> busiest[i], i -> lifetime(time, i));
    }

    /** The same, larger among equals. */
    static int[] byLoadAndSize(Timeline time) {
        long[] busiest = busiest(time);
        return descending(time, i -> busiest[i], i -> time.problem.size(i));
    }

    private static double lifetime(Timeline time, int buffer) {
        return time.death(buffer) - time.birth(buffer);
    }

    private interface Key {
        double of(int buffer);
    }

    private static int[] descending(Timeline time, Key first, Key second) {
        int count = time.problem.count();
        double[] firsts = new double[count];
        double[] seconds = new double[count];
        for (int i = 0; i < count; i++) {
            firsts[i] = first.of(i);
            seconds[i] = second.of(i);
        }
        return IntStream.range(0, count)
                .boxed()
                .sorted((a, b) -> firsts[a] == firsts[b]
                        ? Double.compare(seconds[b], seconds[a])
                        : Double.compare(firsts[b], firsts[a]))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** Largest load within the life of each buffer, from maxima over stretches whose lengths are powers of two. */
    static long[] busiest(Timeline time) {
        int count = time.problem.count();
        long[] busiest = new long[count];
        long[] most = time.load();
        int length = 1;
        for (int level = 0; length <= most.length; level++, length *= 2) {
            for (int i = 0; i < count; i++) {
                int lived = time.death(i) - time.birth(i);
                if (lived > 0 && 31 - Integer.numberOfLeadingZeros(lived) == level) {
                    busiest[i] = Math.max(most[time.birth(i)], most[time.death(i) - length]);
                }
            }
            for (int at = 0; at + length < most.length; at++) {
                most[at] = Math.max(most[at], most[at + length]);
            }
        }
        return busiest;
    }
}
