// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
 *
 * <pre>
 *   bytes = kept outputs + largest segment        for each bound on a segment, over prefixes of the chain:
 *   |--a--|---b---|--c--|                         the pairs (kept bytes, time) of which none is worse in both
 *         k       k      (k: kept)
 * </pre>
 *
 * <p>Exact for some 40 layers while a prefix has at most {@value #MAX_POINTS} such pairs; of more pairs, and of sizes of segments in
 * longer chains, an even selection is looked at. O(bounds * n^2 * points), bounded to about a second.
 */
final class SegmentPlanner {
    /** Steps of the search at most, about a second. */
    private static final long MAX_STEPS = 1 << 25;

    static final int MAX_POINTS = 128;
    private static final int MAX_POINTS_OF_LONG = 32;
    static final int LONG = 64;
    private static final int MIN_BOUNDS = 32;

    private static final Comparator<Point> BY_BYTES =
            Comparator.comparingLong(Point::kept).thenComparingLong(Point::nanos);

    private final Chain chain;
    private final long budget;
    private final int length;
    private final int maxPoints;
    private final int maxBounds;
    private final long[][] bytes;
    private final long[][] kept;
    private final long[][] nanos;
    private final boolean[] cuttable;
    private @Nullable Best fitting;
    private @Nullable Best smallest;

    private SegmentPlanner(Chain chain, long budget) {
        this.chain = chain;
        this.budget = budget;
        this.length = chain.length();
        this.maxPoints = length <= LONG ? MAX_POINTS : MAX_POINTS_OF_LONG;
        this.maxBounds = (int) Math.max(MIN_BOUNDS, 2 * MAX_STEPS / Math.max(1, (long) length * length * maxPoints));
        this.cuttable = new boolean[length];
        for (int end = 1; end < length; end++) {
            cuttable[end] = chain.cuttable(end);
        }
        this.bytes = new long[length][length + 1];
        this.kept = new long[length][length + 1];
        this.nanos = new long[length][length + 1];
        for (int start = 0; start < length; start++) {
            for (int end = start + 1; end <= length; end++) {
                bytes[start][end] = Segments.segmentBytes(chain, start, end, end == length);
                kept[start][end] = chain.keptBytes(start, end);
                nanos[start][end] = Segments.segmentNanos(chain, start, end);
            }
        }
    }

    /**
     * The segments that take the least time among those of at most {@code budget} bytes; if none does, the smallest.
     *
     * @param chain at least one layer
     */
    static Segments plan(Chain chain, long budget) {
        return new SegmentPlanner(chain, budget).search();
    }

    private Segments search() {
        for (long bound : bounds()) {
            within(bound);
        }
        Best best = fitting != null ? fitting : smallest;
        if (best == null) {
            throw new IllegalArgumentException("the chain has no layer, expected at least one");
        }
        List<Integer> ends = new ArrayList<>();
        for (Point point = best.prefix; point != null && point.end > 0; point = point.before) {
            ends.add(0, point.end);
        }
        ends.add(length);
        return new Segments(ends);
    }

    /** Sizes that a largest segment can have. */
    private long[] bounds() {
        LongStream.Builder all = LongStream.builder();
        for (int start = 0; start < length; start++) {
            for (int end = start + 1; end <= length; end++) {
                all.add(bytes[start][end]);
            }
        }
        long[] sorted = all.build()
                .filter(size -> size <= Math.max(budget, floor()))
                .distinct()
                .sorted()
                .toArray();
        if (sorted.length <= maxBounds) {
            return sorted;
        }
        long[] thinned = new long[maxBounds];
        for (int i = 0; i < maxBounds; i++) {
            thinned[i] = sorted[(int) ((long) (i + 1) * sorted.length / maxBounds) - 1];
        }
        return thinned;
    }

    /** What some schedule needs, so that no larger segment can be part of the smallest. */
    private long floor() {
        return Segments.even(length, index -> cuttable[index + 1]).bytes(chain);
    }

    private void within(long bound) {
        List<List<Point>> prefixes = new ArrayList<>();
        prefixes.add(List.of(new Point(0, 0, 0, null)));
        for (int end = 1; end < length; end++) {
            prefixes.add(cuttable[end] ? prefix(prefixes, end, bound) : List.of());
        }
        for (int start = 0; start < length; start++) {
            if (bytes[start][length] <= bound) {
                prefixes.get(start).forEach(point -> consider(point, bound));
            }
        }
    }

    private List<Point> prefix(List<List<Point>> prefixes, int end, long bound) {
        List<Point> points = new ArrayList<>();
        for (int start = end - 1; start >= 0 && bytes[start][end] <= bound; start--) {
            long keeps = kept[start][end];
            long again = nanos[start][end];
            for (Point before : prefixes.get(start)) {
                if (before.kept + keeps + bound <= worthwhile()) {
                    points.add(new Point(end, before.kept + keeps, before.nanos + again, before));
                }
            }
        }
        return thinned(undominated(points));
    }

    /** Bytes above which a schedule neither fits nor is the smallest. */
    private long worthwhile() {
        return Math.max(budget, smallest == null ? Long.MAX_VALUE : smallest.total);
    }

    private static List<Point> undominated(List<Point> points) {
        points.sort(BY_BYTES);
        List<Point> front = new ArrayList<>();
        long least = Long.MAX_VALUE;
        for (Point point : points) {
            if (point.nanos < least) {
                front.add(point);
                least = point.nanos;
            }
        }
        return front;
    }

    /** The first and the last always stay. */
    private List<Point> thinned(List<Point> front) {
        if (front.size() <= maxPoints) {
            return front;
        }
        List<Point> some = new ArrayList<>();
        for (int i = 0; i < maxPoints; i++) {
            some.add(front.get((int) ((long) i * (front.size() - 1) / (maxPoints - 1))));
        }
        return some;
    }

    private void consider(Point prefix, long bound) {
        Best found = new Best(prefix, prefix.kept + bound);
        if (found.total <= budget && (fitting == null || found.isFaster(fitting))) {
            fitting = found;
        }
        if (smallest == null || found.isSmaller(smallest)) {
            smallest = found;
        }
    }

    /** A way to cut a prefix of the chain; {@code before} is the rest of it. */
    private record Point(
            int end, long kept, long nanos, @Nullable Point before) {}

    private record Best(Point prefix, long total) {
        boolean isFaster(Best other) {
            return prefix.nanos < other.prefix.nanos || (prefix.nanos == other.prefix.nanos && total < other.total);
        }

        boolean isSmaller(Best other) {
            return total < other.total || (total == other.total && prefix.nanos < other.prefix.nanos);
        }
    }
}
