// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * How much scratch memory the convolutions of one network may have: as much as they want, a half of that, a quarter, and as little as they
 * can do with. Passes run one after another, so that the hungriest decides what all take; where a planned arena has room at that
 * moment, they take nothing beside it. Threading: confined.
 */
final class ScratchLever {
    private static final long[] SHARES = {1, 2, 4};

    /** Examples that convolutions were measured with. */
    private final int batch;
    /** Limits, the largest first, with what each pass then takes. */
    private final Map<Long, Level> levels = new LinkedHashMap<>();
    /** What the hungriest pass cannot do without. */
    private final long least;

    /**
     * Under one limit.
     *
     * @param needs bytes of each pass
     * @param nanos of all passes that were measured, together
     */
    private record Level(Map<ScratchCall, Long> needs, long nanos) {
        private long most() {
            return needs.values().stream().mapToLong(need -> need).max().orElse(0);
        }
    }

    /** Of a network whose convolutions take no more than they cannot do without. */
    static ScratchLever none() {
        return new ScratchLever();
    }

    private ScratchLever() {
        batch = 1;
        least = 0;
    }

    /**
     * Of convolutions that were measured with {@code batch} examples. Those that were not may take as much as a limit allows.
     *
     * @param memories of all passes that are priced; the calls of the first have their times counted
     */
    ScratchLever(NetworkScratch scratch, Collection<PassMemory> memories, int batch) {
        this.batch = batch;
        Set<ScratchCall> calls = memories.stream()
                .flatMap(memory -> memory.scratchCalls().stream())
                .collect(Collectors.toCollection(LinkedHashSet::new));
        List<ScratchCall> once =
                memories.stream().map(PassMemory::scratchCalls).findFirst().orElse(List.of());
        Function<Long, Level> level = limit -> level(scratch, calls, once, limit);
        least = level.apply(0L).most();
        if (!calls.isEmpty()) {
            long all = level.apply(NetworkScratch.UNLIMITED).most();
            for (long share : SHARES) {
                add(level.apply(all / share).most(), level);
            }
            add(least, level);
        }
    }

    /** A limit that is what some pass takes: of a higher one the rest would be for passes that nobody foresees. */
    private void add(long limit, Function<Long, Level> level) {
        if (limit >= least) {
            levels.putIfAbsent(limit, level.apply(limit));
        }
    }

    private Level level(NetworkScratch scratch, Set<ScratchCall> calls, List<ScratchCall> once, long limit) {
        Map<ScratchCall, Long> needs =
                calls.stream().collect(Collectors.toMap(call -> call, call -> need(scratch, call, limit)));
        long nanos = once.stream()
                .filter(call -> scratch.isMeasured(call.over(batch), call.pass()))
                .flatMap(call -> way(scratch, call, limit).stream())
                .mapToLong(ConvolutionAlgorithm::nanos)
                .sum();
        return new Level(needs, nanos);
    }

    private long need(NetworkScratch scratch, ScratchCall call, long limit) {
        if (scratch.isKnown(call.over(batch), call.pass())) {
            return way(scratch, call, limit)
                    .map(ConvolutionAlgorithm::scratchBytes)
                    .orElse(0L);
        }
        return Math.max(call.leastBytes(batch), limit == NetworkScratch.UNLIMITED ? 0 : limit);
    }

    private Optional<ConvolutionAlgorithm> way(NetworkScratch scratch, ScratchCall call, long limit) {
        return scratch.chosenWithin(call.over(batch), call.pass(), limit);
    }

    /** Limits to choose from, the largest first; {@link Way#NO_SCRATCH} alone where no scratch memory is taken. */
    List<Long> limits() {
        return levels.isEmpty() ? List.of(Way.NO_SCRATCH) : List.copyOf(levels.keySet());
    }

    /**
     * Bytes beside workspaces or arena that passes over {@code examples}, no more than were measured, take at most: never less than some
     * pass cannot do without, for one that was not foreseen has no arena that lends it any.
     */
    long besideBytes(PassMemory memory, Reuse reuse, int examples, long limit) {
        Level level = levels.get(limit);
        return level == null
                ? memory.leastScratchBytes(examples)
                : Math.max(
                        least,
                        memory.scratchBeside(
                                reuse,
                                examples,
                                call -> Objects.requireNonNull(level.needs().get(call), "all calls are known")));
    }

    /** Nanoseconds that passes over {@code examples} take longer than with as much scratch memory as convolutions want. */
    double extraNanos(long limit, int examples) {
        Level level = levels.get(limit);
        return level == null
                ? 0
                : (double) Math.max(
                                0,
                                level.nanos()
                                        - levels.values().iterator().next().nanos())
                        * examples
                        / batch;
    }
}
