// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;

/**
 * Where a chain is cut. Outputs that later segments use are kept; the others of a segment exist while it is computed forward, and
 * again, but for the last segment, when the backward pass reaches it.
 *
 * @param ends exclusive end of each segment, ascending; the last is the length of the chain
 */
public record Segments(List<Integer> ends) {
    public Segments {
        ends = List.copyOf(ends);
    }

    /**
     * Segments of about equal length, the square root of the chain's: what is known before anything is measured.
     *
     * @param cuttable whether the chain can be cut after a layer
     */
    static Segments even(int length, IntPredicate cuttable) {
        int size = Math.max(1, (int) Math.ceil(Math.sqrt(length)));
        List<Integer> ends = new ArrayList<>();
        int start = 0;
        for (int end = 1; end < length; end++) {
            if (end - start >= size && cuttable.test(end - 1)) {
                ends.add(end);
                start = end;
            }
        }
        ends.add(length);
        return new Segments(ends);
    }

    public int count() {
        return ends.size();
    }

    int start(int segment) {
        return segment == 0 ? 0 : ends.get(segment - 1);
    }

    int end(int segment) {
        return ends.get(segment);
    }

    /** The stage of a pass, see {@link io.memopt.strategy.offload.OutputStore}, in which {@code segment} is computed backward. */
    int backwardStage(int segment) {
        return 2 * (count() - 1) - segment;
    }

    /** What {@code uses} tells of segments, for each stage of a pass. */
    List<Set<Integer>> stages(IntFunction<Set<Integer>> uses) {
        List<Set<Integer>> stages = new ArrayList<>();
        for (int i = 0; i < count(); i++) {
            stages.add(uses.apply(i));
        }
        for (int i = count() - 2; i >= 0; i--) {
            stages.add(stages.get(i));
        }
        return stages;
    }

    /** Bytes of activations at most: kept outputs and the largest segment. */
    public long bytes(Chain chain, KeptIn where) {
        long kept = 0;
        long largest = 0;
        for (int i = 0; i < count(); i++) {
            largest = Math.max(largest, where.segmentBytes(chain, start(i), end(i)));
            kept = where.together(kept, where.keptBytes(chain, start(i), end(i)));
        }
        return kept + largest;
    }

    /** Time to compute again. */
    public long nanos(Chain chain) {
        long nanos = 0;
        for (int i = 0; i < count() - 1; i++) {
            nanos += segmentNanos(chain, start(i), end(i));
        }
        return nanos;
    }

    static long segmentNanos(Chain chain, int start, int end) {
        long nanos = 0;
        for (int i = start; i < end; i++) {
            Chain.Cost cost = chain.layers().get(i);
            nanos += !cost.crosses(end) || cost.reruns() ? cost.nanos() : 0;
        }
        return nanos;
    }
}
