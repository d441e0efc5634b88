// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Chooses how each pass of each convolution is done, and takes another way when one fails. Within the budget the fastest, or one as fast that needs less; where
 * nothing fits into it, the way with the least scratch memory up to {@link CudnnOptions#ceilingBytes}, and no other is tried; otherwise none.
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
    private final Map<Work, Known> all = new ConcurrentHashMap<>();
    private volatile long most = Long.MAX_VALUE;
    /** See {@link #limit}. */
    private volatile long mostAlone = Long.MAX_VALUE;

    /** What is known of a pass, and what follows. */
    private record Known(AlgorithmTable table, Optional<ConvolutionAlgorithm> way) {}

    private record Work(ConvolutionShape shape, ConvolutionPass pass, boolean graph) {
        private static Work of(ConvolutionCalls calls) {
            return new Work(calls.shape(), calls.pass(), calls.isGraph());
        }
    }

    /** @param device name of the device and version of the library: what was measured elsewhere does not count */
    AlgorithmChooser(CudnnOptions options, AlgorithmStore store, String device) {
        this(options, store, device, System::nanoTime);
    }

    /** @param clock nanoseconds, by which ways are measured */
    AlgorithmChooser(CudnnOptions options, AlgorithmStore store, String device, LongSupplier clock) {
        this.options = options;
        this.tuner = new AlgorithmTuner(options, clock);
        this.store = store;
        this.device = device;
    }

    /** The way to go, or empty when the pass belongs to the built-in path. Tunes when it is asked for the first time. */
    Optional<ConvolutionAlgorithm> choose(ConvolutionCalls calls) {
        Work work = Work.of(calls);
        Known known = all.get(work);
        if (known == null) {
            if (all.size() >= MOST) {
                return Optional.empty();
            }
            known = tuned(work, calls);
        }
        return known.way();
    }

    /** Again when a limit changed meanwhile, which did not reach what is only known now. */
    private Known tuned(Work work, ConvolutionCalls calls) {
        while (true) {
            long limit = most;
            long alone = mostAlone;
            Known known = known(work, look(calls));
            all.put(work, known);
            if (limit == most && alone == mostAlone) {
                return known;
            }
        }
    }

    /** Runs {@code calls} the way chosen, or the next best when the library refuses; false when none is left. */
    boolean run(ConvolutionCalls calls) {
        Optional<ConvolutionAlgorithm> way = wayNow(calls);
        while (way.isPresent()) {
            if (calls.run(way.get())) {
                return true;
            }
            strike(calls, way.get());
            way = wayNow(calls);
        }
        return false;
    }

    /** The way chosen, or where there is no room for its scratch memory now another, this once. */
    private Optional<ConvolutionAlgorithm> wayNow(ConvolutionCalls calls) {
        Optional<ConvolutionAlgorithm> way = choose(calls);
        if (way.isEmpty() || calls.hasRoom(way.get().scratchBytes())) {
            return way;
        }
        Known known = all.get(Work.of(calls));
        return known == null ? way : within(known.table(), searchBytes(calls.shape()));
    }

    /**
     * From now on ways take at most {@code bytes} of scratch memory, and at most what the options say; where a pass has none, the one with
     * the least. What is known of the ways within stays known.
     *
     * @param aloneBytes most scratch memory that is no one else's: new passes are tuned with that much
     */
    void limit(long bytes, long aloneBytes) {
        most = bytes;
        mostAlone = aloneBytes;
        all.entrySet()
                .removeIf(each -> each.getValue().table().searchedBytes()
                        < limitBytes(each.getKey().shape()));
        all.replaceAll((work, known) -> known(work, known.table()));
    }

    private long limitBytes(ConvolutionShape shape) {
        return Math.min(options.limitBytes(shape), most);
    }

    private long searchBytes(ConvolutionShape shape) {
        return Math.min(limitBytes(shape), mostAlone);
    }

    /** Whether what {@code calls} do was asked for before. */
    boolean knows(ConvolutionCalls calls) {
        return all.containsKey(Work.of(calls));
    }

    /** What is known of a pass; empty before it was first asked for. */
    Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        return find(shape, pass).map(Known::table);
    }

    /** What {@link #choose} answers, without tuning. */
    Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        return find(shape, pass).flatMap(Known::way);
    }

    /**
     * What {@link #choose} would answer under a {@link #limit} of {@code bytes}, of the ways known now. A search under that limit may find
     * more: one under a larger limit looks no further into ways that are far slower than what it has.
     */
    Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes) {
        long limit = Math.min(options.limitBytes(shape), bytes);
        return find(shape, pass).flatMap(known -> within(known.table(), limit));
    }

    /** By graphs if they have a way. */
    private Optional<Known> find(ConvolutionShape shape, ConvolutionPass pass) {
        Optional<Known> graph = Optional.ofNullable(all.get(new Work(shape, pass, true)));
        return graph.filter(known -> known.way().isPresent())
                .or(() -> Optional.ofNullable(all.get(new Work(shape, pass, false))))
                .or(() -> graph);
    }

    private Known known(Work work, AlgorithmTable table) {
        return new Known(table, within(table, limitBytes(work.shape())));
    }

    private Optional<ConvolutionAlgorithm> within(AlgorithmTable table, long limit) {
        return table.thriftiestWithin(limit)
                .or(() -> table.smallest().filter(way -> way.scratchBytes() <= options.ceilingBytes()));
    }

    private AlgorithmTable look(ConvolutionCalls calls) {
        String key = device + "|" + options.rules() + (calls.isGraph() ? "+graph" : "") + "|" + calls.pass() + "|"
                + calls.shape().key();
        long limit = searchBytes(calls.shape());
        AlgorithmTable table = lookUpTo(key, calls, limit);
        if (table.algorithms().isEmpty()) {
            long least = Math.max(limit, tuner.leastBytes(calls));
            table = least <= options.ceilingBytes() ? lookUpTo(key, calls, least) : table;
        }
        return table.algorithms().isEmpty() ? lookUpTo(key, calls, options.ceilingBytes()) : table;
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

    /**
     * A way that failed is not tried again, unless a limit is raised beyond what was looked at; the store keeps it, for memory may be there
     * next time.
     */
    private void strike(ConvolutionCalls calls, ConvolutionAlgorithm failed) {
        all.computeIfPresent(Work.of(calls), (work, known) -> {
            AlgorithmTable table = known.table();
            List<ConvolutionAlgorithm> left = table.algorithms().stream()
                    .filter(way -> !way.equals(failed))
                    .toList();
            return known(work, new AlgorithmTable(table.searchedBytes(), table.measured(), left));
        });
    }
}
