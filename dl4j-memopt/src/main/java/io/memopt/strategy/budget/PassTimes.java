// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.BooleanSupplier;

/**
 * How long a pass takes in the way that training will have it: one that is recorded, or computed twice to prove a plan, does not count.
 * Passes that the JVM's collector stopped, for as long as some of them take, count as often as they come in a step: a minibatch that is
 * computed whole is mostly spared, of one in four parts the collector may stop every second.
 *
 * <pre>
 *   pass = that of passes left alone + round(passes of a step * share of stopped ones) * stop / passes of a step
 * </pre>
 *
 * <p>Threading: confined.
 */
final class PassTimes {
    /** Of short passes so many are timed at most. */
    static final int MAX_TIMINGS = 40;
    /** Where fewer than so many were left alone by the collector, half as much time again is spent. */
    static final int ENOUGH = 3;
    /** A plan is proved after three recordings at most; passes that are not served by then never are. */
    static final int MAX_UNSETTLED = 6;

    private final Clock clock;

    PassTimes(Clock clock) {
        this.clock = clock;
    }

    /** What passes are timed by. */
    interface Clock {
        /** The time, in nanoseconds since whenever. */
        long nanos();

        /** Collections of garbage so far. */
        long collections();
    }

    /** By the clock of this JVM. */
    static PassTimes real() {
        return new PassTimes(new Clock() {
            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public long collections() {
                return ManagementFactory.getGarbageCollectorMXBeans().stream()
                        .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                        .sum();
            }
        });
    }

    /**
     * Nanoseconds of one pass of a step: medians, since the time of an iteration that it is compared with is one, of the later half, which
     * the JVM has compiled.
     *
     * @param pass computes one; false when it was not served as later ones will be
     * @param nanos passes are timed until they took so long together
     * @param ofStep passes of one step, at least 1
     * @return empty if passes go on to be computed in other ways
     */
    OptionalDouble typical(BooleanSupplier pass, long nanos, int ofStep) {
        return settles(pass) ? timed(pass, nanos, ofStep) : OptionalDouble.empty();
    }

    private static boolean settles(BooleanSupplier pass) {
        for (int i = 0; i < MAX_UNSETTLED; i++) {
            if (pass.getAsBoolean()) {
                return true;
            }
        }
        return false;
    }

    /** The same where all passes are computed alike. */
    OptionalDouble timed(BooleanSupplier pass, long nanos, int ofStep) {
        List<Long> clear = new ArrayList<>();
        List<Long> collected = new ArrayList<>();
        long begun = clock.nanos();
        for (int i = 0; i < MAX_TIMINGS; i++) {
            if (clock.nanos() - begun >= (clear.size() < ENOUGH ? nanos + nanos / 2 : nanos)) {
                break;
            }
            long collections = clock.collections();
            long before = clock.nanos();
            boolean settled = pass.getAsBoolean();
            long taken = clock.nanos() - before;
            if (settled) {
                (clock.collections() == collections ? clear : collected).add(taken);
            }
        }
        return ofStep(clear, collected, ofStep);
    }

    private static OptionalDouble ofStep(List<Long> clear, List<Long> collected, int passes) {
        if (clear.isEmpty() || collected.isEmpty()) {
            return median(clear.isEmpty() ? collected : clear);
        }
        double alone = median(clear).orElseThrow();
        double stop = Math.max(0, median(collected).orElseThrow() - alone);
        long stops = Math.round((double) passes * collected.size() / (clear.size() + collected.size()));
        return OptionalDouble.of(alone + stops * stop / passes);
    }

    private static OptionalDouble median(List<Long> nanos) {
        List<Long> later =
                nanos.subList(nanos.size() / 2, nanos.size()).stream().sorted().toList();
        return later.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(later.get((later.size() - 1) / 2));
    }
}
