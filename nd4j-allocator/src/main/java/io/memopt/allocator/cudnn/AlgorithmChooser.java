// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Chooses how each pass of each convolution is done, and takes another way when one fails. Within the budget the fastest, or one as fast that needs less; where
 * nothing fits into it, the way with the least scratch memory up to {@link CudnnOptions#ceilingBytes}; otherwise none.
 *
 * <p>Bounded: after {@value #MOST} pairs of shape and pass no new ones are tuned, and what is asked for then has no way.
 * Threading: safe; two threads may tune the same pass at once.
 */
final class AlgorithmChooser {
    private static final int MOST = 4096;

    private final CudnnOptions options;
    private final AlgorithmTuner tuner;
    private final AlgorithmStore store;
    private final String device;
    private final Map<Work, AlgorithmTable> tables = new ConcurrentHashMap<>();

    private record Work(ConvolutionShape shape, ConvolutionPass pass, boolean graph) {
        private static Work of(ConvolutionCalls calls) {
            return new Work(calls.shape(), calls.pass(), calls.isGraph());
        }
    }

    /** @param device name of the device and version of the library: what was measured elsewhere does not count */
    AlgorithmChooser(CudnnOptions options, AlgorithmStore store, String device) {
        this.options = options;
        this.tuner = new AlgorithmTuner(options, System::nanoTime);
        this.store = store;
        this.device = device;
    }

    /** The way to go, or empty when the pass belongs to the built-in path. Tunes when it is asked for the first time. */
    Optional<ConvolutionAlgorithm> choose(ConvolutionCalls calls) {
        Work work = Work.of(calls);
        AlgorithmTable known = tables.get(work);
        if (known == null) {
            if (tables.size() >= MOST) {
                return Optional.empty();
            }
            known = look(calls);
            tables.put(work, known);
        }
        return pick(work, known);
    }

    /** Runs {@code calls} the way chosen, or the next best when the library refuses; false when none is left. */
    boolean run(ConvolutionCalls calls) {
        Optional<ConvolutionAlgorithm> way = choose(calls);
        while (way.isPresent()) {
            if (calls.run(way.get())) {
                return true;
            }
            strike(calls, way.get());
            way = choose(calls);
        }
        return false;
    }

    /** Whether what {@code calls} do was asked for before. */
    boolean knows(ConvolutionCalls calls) {
        return tables.containsKey(Work.of(calls));
    }

    /** What is known of a pass; empty before it was first asked for. */
    Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        return known(shape, pass).map(Map.Entry::getValue);
    }

    /** What {@link #choose} answers, without tuning. */
    Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        return known(shape, pass).flatMap(entry -> pick(entry.getKey(), entry.getValue()));
    }

    /** By graphs if they have a way. */
    private Optional<Map.Entry<Work, AlgorithmTable>> known(ConvolutionShape shape, ConvolutionPass pass) {
        List<Map.Entry<Work, AlgorithmTable>> both = Stream.of(
                        new Work(shape, pass, true), new Work(shape, pass, false))
                .filter(tables::containsKey)
                .map(work -> Map.entry(work, tables.get(work)))
                .toList();
        return both.stream()
                .filter(entry -> pick(entry.getKey(), entry.getValue()).isPresent())
                .findFirst()
                .or(() -> both.stream().findFirst());
    }

    private Optional<ConvolutionAlgorithm> pick(Work work, AlgorithmTable table) {
        Optional<ConvolutionAlgorithm> within = table.thriftiestWithin(options.limitBytes(work.shape()));
        return within.isPresent()
                ? within
                : table.smallest().filter(way -> way.scratchBytes() <= options.ceilingBytes());
    }

    private AlgorithmTable look(ConvolutionCalls calls) {
        String key = device + "|" + options.rules() + (calls.isGraph() ? "+graph" : "") + "|" + calls.pass() + "|"
                + calls.shape().key();
        long limit = options.limitBytes(calls.shape());
        AlgorithmTable table = lookUpTo(key, calls, limit);
        return table.fastestWithin(limit).isPresent() ? table : lookUpTo(key, calls, options.ceilingBytes());
    }

    private AlgorithmTable lookUpTo(String key, ConvolutionCalls calls, long limit) {
        Optional<AlgorithmTable> stored = store.find(key).filter(table -> table.searchedBytes() >= limit);
        if (stored.isPresent()) {
            return stored.get();
        }
        AlgorithmTable fresh = tuner.search(calls, limit);
        store.put(key, fresh);
        return fresh;
    }

    /** A way that failed is not tried again in this process; the store keeps it, for memory may be there next time. */
    private void strike(ConvolutionCalls calls, ConvolutionAlgorithm failed) {
        tables.computeIfPresent(Work.of(calls), (work, table) -> {
            List<ConvolutionAlgorithm> left = table.algorithms().stream()
                    .filter(way -> !way.equals(failed))
                    .toList();
            return new AlgorithmTable(table.searchedBytes(), table.measured(), left);
        });
    }
}
