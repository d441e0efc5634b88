// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Phase;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** What is known of each thread. Threading: confined. */
final class ThreadBook {
    private final LongFunction<Optional<String>> names;
    private final Map<Long, Entry> entries = new HashMap<>();
    private final Map<Long, Boolean> deallocators = new HashMap<>();
    private long lastAsked = Long.MIN_VALUE;
    private boolean lastAnswer;
    private @Nullable Entry last;

    ThreadBook(LongFunction<Optional<String>> names) {
        this.names = names;
    }

    Entry entry(long id, long time) {
        Entry known = last;
        if (known == null || known.id != id) {
            known = entries.computeIfAbsent(id, key -> new Entry(id, time));
            last = known;
        }
        return known;
    }

    Collection<Entry> all() {
        return entries.values();
    }

    String name(long id) {
        return names.apply(id).filter(name -> !name.isEmpty()).orElse("thread " + id);
    }

    /** True for the threads that free what the Java collector found unreachable. */
    boolean isDeallocator(long id) {
        if (id == lastAsked) {
            return lastAnswer;
        }
        Boolean known = deallocators.get(id);
        if (known == null) {
            known = names.apply(id).filter(name -> name.contains("Deallocator")).isPresent();
            deallocators.put(id, known);
        }
        lastAsked = id;
        lastAnswer = known;
        return known;
    }

    /** One thread. */
    static final class Entry {
        final long id;
        /** Number of ITERATION events. */
        long iterations;

        private boolean inPass;
        private long passes;
        /** By owner number: detached bytes in the latest forward pass outside training, its number, and most in one. */
        private final Map<Integer, long[]> results = new HashMap<>();

        /** Arrays in its workspaces. */
        long arrays;
        // the current iteration
        long startNanos;
        long startEvent;
        long peakReserved;
        long peakInUse;
        long allocations;
        long allocatedBytes;
        long spills;
        long spilledBytes;
        long resizes;
        long transferredBytes;

        Entry(long id, long time) {
            this.id = id;
            this.startNanos = time;
        }

        /** Takes note of what the thread does now; true when that begins a forward pass outside training. */
        boolean enters(Phase phase) {
            boolean now = isPass(phase);
            boolean begins = now && !inPass;
            inPass = now;
            passes += begins ? 1 : 0;
            return begins;
        }

        void resultAllocated(int owner, long bytes) {
            long[] its = results.computeIfAbsent(owner, number -> new long[3]);
            its[0] = (its[1] == passes ? its[0] : 0) + bytes;
            its[1] = passes;
            its[2] = Math.max(its[2], its[0]);
        }

        /** Most bytes that owners had in one pass, summed over those that {@code counts}: enough for any of the passes. */
        long maxPassBytes(IntPredicate counts) {
            return results.entrySet().stream()
                    .filter(its -> counts.test(its.getKey()))
                    .mapToLong(its -> its.getValue()[2])
                    .sum();
        }

        void nextIteration(long time, long event, long reserved, long inUse) {
            startNanos = time;
            startEvent = event + 1;
            peakReserved = reserved;
            peakInUse = inUse;
            allocations = 0;
            allocatedBytes = 0;
            spills = 0;
            spilledBytes = 0;
            resizes = 0;
            transferredBytes = 0;
        }
    }

    static boolean isPass(Phase phase) {
        return phase == Phase.INFERENCE || phase == Phase.EVALUATION;
    }
}
