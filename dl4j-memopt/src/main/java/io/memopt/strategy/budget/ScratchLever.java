// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * How much scratch memory the convolutions of one network may have: as much as they want, a half of that, a quarter, and as little as they
 * can do with. Passes run one after another, so that the hungriest decides what all take; where a planned arena has room at that
 * moment, they take nothing beside it. Threading: confined.
 */
final class ScratchLever {
    private static final long[] SHARES = {1, 2, 4};

    /** Limits, the largest first, with what each pass then takes. */
    private final Map<Long, Level> levels = new LinkedHashMap<>();

    /**
     * Under one limit.
     *
     * @param needs bytes of each pass
     * @param nanos of all passes over a whole minibatch; 0 where nothing was measured
     */
    private record Level(Map<ScratchCall, Long> needs, long nanos) {
        private long most() {
            return needs.values().stream().mapToLong(need -> need).max().orElse(0);
        }
    }

    /** Of a network whose convolutions take none. */
    static ScratchLever none() {
        return new ScratchLever();
    }

    private ScratchLever() {}

    /**
     * Of convolutions that were measured with {@code batch} examples; of others what passes with {@link PassMemory#HIGH} took counts, in
     * proportion.
     *
     * @param memories of passes with {@link PassMemory#HIGH} examples
     */
    ScratchLever(NetworkScratch scratch, Collection<PassMemory> memories, int batch) {
        Set<ScratchCall> calls = memories.stream()
                .flatMap(memory -> memory.scratchCalls().stream())
                .collect(Collectors.toCollection(LinkedHashSet::new));
        List<ScratchCall> once =
                memories.stream().map(PassMemory::scratchCalls).findFirst().orElse(List.of());
        if (calls.isEmpty()) {
            return;
        }
        long all = level(scratch, calls, once, batch, NetworkScratch.UNLIMITED).most();
        long least = level(scratch, calls, once, batch, 0).most();
        LongStream.concat(Arrays.stream(SHARES).map(share -> all / share), LongStream.of(least))
                .filter(limit -> limit >= least)
                .forEach(limit -> levels.putIfAbsent(limit, level(scratch, calls, once, batch, limit)));
    }

    private static Level level(
            NetworkScratch scratch, Set<ScratchCall> calls, List<ScratchCall> once, int batch, long limit) {
        Map<ScratchCall, Long> needs =
                calls.stream().collect(Collectors.toMap(call -> call, call -> need(scratch, call, batch, limit)));
        long nanos = once.stream()
                .filter(call -> scratch.isMeasured(over(call, batch), call.pass()))
                .flatMap(call -> way(scratch, over(call, batch), call, limit).stream())
                .mapToLong(ConvolutionAlgorithm::nanos)
                .sum();
        return new Level(needs, nanos);
    }

    private static long need(NetworkScratch scratch, ScratchCall call, int batch, long limit) {
        return way(scratch, over(call, batch), call, limit)
                .map(ConvolutionAlgorithm::scratchBytes)
                .or(() -> way(scratch, call.shape(), call, limit)
                        .map(way -> (way.scratchBytes() * batch + PassMemory.HIGH - 1) / PassMemory.HIGH))
                .orElse(0L);
    }

    private static Optional<ConvolutionAlgorithm> way(
            NetworkScratch scratch, ConvolutionShape shape, ScratchCall call, long limit) {
        return scratch.chosenWithin(shape, call.pass(), limit);
    }

    /** The convolution of {@code call} where the network computes {@code batch} examples. */
    static ConvolutionShape over(ScratchCall call, int batch) {
        return call.shape().withBatch(call.shape().batch() * batch / PassMemory.HIGH);
    }

    /** Limits to choose from, the largest first; {@link Way#NO_SCRATCH} alone where no scratch memory is taken. */
    List<Long> limits() {
        return levels.isEmpty() ? List.of(Way.NO_SCRATCH) : List.copyOf(levels.keySet());
    }

    /** Bytes beside workspaces or arena that passes over {@code examples}, no more than were measured, take at most. */
    long besideBytes(PassMemory memory, Reuse reuse, int examples, long limit) {
        Level level = levels.get(limit);
        return level == null
                ? 0
                : memory.scratchBeside(reuse, examples, call -> level.needs().getOrDefault(call, 0L));
    }

    /** Nanoseconds that a whole minibatch takes longer than with as much scratch memory as convolutions want. */
    double extraNanos(long limit) {
        Level level = levels.get(limit);
        return level == null
                ? 0
                : Math.max(0, level.nanos() - levels.values().iterator().next().nanos());
    }
}
