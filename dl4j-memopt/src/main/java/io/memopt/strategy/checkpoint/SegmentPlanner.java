// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Cuts a chain so that the least time is spent on computing again within a number of bytes.
 *
 * <p>Segments of a chain, each computed again once, are due to T. Chen, B. Xu, C. Zhang, C. Guestrin, <i>Training Deep Nets with
 * Sublinear Memory Cost</i>, arXiv:1604.06174 (2016), with equal segments; choosing by dynamic programming over the measured sizes
 * and times of unequal layers follows O. Beaumont, L. Eyraud-Dubois, J. Herrmann, A. Joly, A. Shilova, <i>Optimal Checkpointing
 * for Heterogeneous Chains</i>, Inria RR-9302 (2019). Theirs computes layers again any number of times; here once at most, which
 * bounds the time by one more forward pass and makes memory a sum of two workspaces. In a graph, whose layers are in topological order, a
 * cut keeps every output that crosses it, each once: what a segment adds depends on its two ends alone, so that the same programme holds.
 * Where kept outputs lie elsewhere, see {@link KeptIn}, they add up otherwise, and segments become more and shorter.
 *
 * <pre>
 *   bytes = kept outputs + largest segment        for each bound on a segment, over prefixes of the chain:
 *   |--a--|---b---|--c--|                         the pairs (kept bytes, time) of which none is worse in both
 *         k       k      (k: kept)
 * </pre>
 *
 * <p>One search answers for several budgets. It is exact for some 35 layers while a prefix has at most {@value #MAX_POINTS} such pairs; of
 * more pairs, and of sizes of segments in longer chains, an even selection is looked at. O(bounds * c^2 * points) for c places where the
 * chain can be cut, at most some {@value #MAX_STEPS} steps for up to 700 of them, i.e. about a second; 32 bytes for each place and point.
 */
final class SegmentPlanner {
    /** Pairs that are looked at, at most: some 5 ns each. */
    static final long MAX_STEPS = 1 << 27;

    static final int MAX_POINTS = 128;
    private static final int MIN_POINTS = 8;
    private static final int MIN_BOUNDS = 32;

    private final Chain chain;
    private final KeptIn where;
    private final long[] budgets;
    private final long loosest;
    private final int length;
    /** Where segments may begin or end: 0, each place where the chain can be cut, its length. */
    private final int[] places;
    /** Index of the last place. */
    private final int whole;

    private final long[][] bytes;
    private final long[][] kept;
    private final long[][] nanos;
    private final PrefixFronts fronts;
    private final @Nullable Best[] fitting;
    private @Nullable Best smallest;

    private SegmentPlanner(Chain chain, KeptIn where, long[] budgets) {
        this.chain = chain;
        this.where = where;
        this.budgets = budgets;
        this.loosest = Arrays.stream(budgets).max().orElse(0);
        this.length = chain.length();
        this.places = IntStream.rangeClosed(0, length)
                .filter(end -> end == 0 || end == length || chain.cuttable(end))
                .toArray();
        this.whole = places.length - 1;
        this.bytes = new long[whole][whole + 1];
        this.kept = new long[whole][whole + 1];
        this.nanos = new long[whole][whole + 1];
        for (int start = 0; start < whole; start++) {
            for (int end = start + 1; end <= whole; end++) {
                bytes[start][end] = where.segmentBytes(chain, places[start], places[end]);
                kept[start][end] = where.keptBytes(chain, places[start], places[end]);
                nanos[start][end] = Segments.segmentNanos(chain, places[start], places[end]);
            }
        }
        this.fronts = new PrefixFronts(whole, points(), where::together);
        this.fitting = new Best[budgets.length];
    }

    /**
     * The segments that take the least time among those of at most {@code budget} bytes; if none does, the smallest.
     *
     * @param chain at least one layer
     * @param where outputs lie that segments leave
     */
    static Segments plan(Chain chain, KeptIn where, long budget) {
        return planEach(chain, where, budget).get(0);
    }

    /** The same for each of {@code budgets}, by one search. */
    static List<Segments> planEach(Chain chain, KeptIn where, long... budgets) {
        if (chain.length() == 0) {
            throw new IllegalArgumentException("the chain has no layer, expected at least one");
        }
        return new SegmentPlanner(chain, where, budgets.clone()).search();
    }

    private int points() {
        return (int) Math.min(MAX_POINTS, Math.max(MIN_POINTS, MAX_STEPS / (MIN_BOUNDS * squared())));
    }

    private int maxBounds() {
        return (int) Math.max(MIN_BOUNDS, MAX_STEPS / (squared() * points()));
    }

    private long squared() {
        return (long) whole * whole;
    }

    private List<Segments> search() {
        for (long bound : bounds()) {
            within(bound);
        }
        return Arrays.stream(fitting)
                .map(best -> Objects.requireNonNull(best != null ? best : smallest, "some cut is the smallest"))
                .map(best -> new Segments(best.ends))
                .toList();
    }

    /** Sizes that a largest segment can have. */
    private long[] bounds() {
        LongStream.Builder all = LongStream.builder();
        for (int start = 0; start < whole; start++) {
            for (int end = start + 1; end <= whole; end++) {
                all.add(bytes[start][end]);
            }
        }
        long most = Math.max(loosest, floor());
        long[] sorted =
                all.build().filter(size -> size <= most).distinct().sorted().toArray();
        int count = Math.min(sorted.length, maxBounds());
        long[] thinned = new long[count];
        for (int i = 0; i < count; i++) {
            thinned[i] = sorted[(int) ((long) (i + 1) * sorted.length / count) - 1];
        }
        return thinned;
    }

    /** What some schedule needs, so that no larger segment can be part of the smallest. */
    private long floor() {
        return Segments.even(length, index -> chain.cuttable(index + 1)).bytes(chain, where);
    }

    private void within(long bound) {
        for (int end = 1; end < whole; end++) {
            fronts.clear(end);
            for (int start = end - 1; start >= 0 && bytes[start][end] <= bound; start--) {
                fronts.extend(end, start, kept[start][end], nanos[start][end], worthwhile() - bound);
            }
        }
        for (int start = 0; start < whole; start++) {
            for (int way = 0; bytes[start][whole] <= bound && way < fronts.size(start); way++) {
                consider(start, way, bound);
            }
        }
    }

    /** Bytes above which a schedule neither fits nor is the smallest. */
    private long worthwhile() {
        return Math.max(loosest, smallest == null ? Long.MAX_VALUE : smallest.total);
    }

    private void consider(int prefix, int way, long bound) {
        long total = where.together(fronts.kept(prefix, way), kept[prefix][whole]) + bound;
        long time = fronts.nanos(prefix, way);
        for (int i = 0; i < budgets.length; i++) {
            if (total <= budgets[i] && (fitting[i] == null || fitting[i].isSlower(time, total))) {
                fitting[i] = found(prefix, way, total);
            }
        }
        if (smallest == null || smallest.isLarger(time, total)) {
            smallest = found(prefix, way, total);
        }
    }

    private Best found(int prefix, int way, long total) {
        List<Integer> ends = new ArrayList<>();
        fronts.path(prefix, way).forEach(place -> ends.add(places[place]));
        ends.add(length);
        return new Best(ends, fronts.nanos(prefix, way), total);
    }

    private record Best(List<Integer> ends, long nanos, long total) {
        boolean isSlower(long time, long bytes) {
            return time < nanos || (time == nanos && bytes < total);
        }

        boolean isLarger(long time, long bytes) {
            return bytes < total || (bytes == total && time < nanos);
        }
    }
}
