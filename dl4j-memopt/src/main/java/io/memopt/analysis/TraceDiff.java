// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What changed between two runs, or two iterations. Matched by structure: layer, phase, category, workspace, and within
 * those by order of allocation; never by address or time. Names of networks count only when a side has several.
 *
 * @param space the space compared: the focus of the first side
 * @param reservedBefore reserved peak
 * @param inUseBefore in-use peak
 * @param rows what differs, largest change first
 */
public record TraceDiff(
        MemorySpace space, long reservedBefore, long reservedAfter, long inUseBefore, long inUseAfter, List<Row> rows) {

    public TraceDiff {
        rows = List.copyOf(rows);
    }

    /** Bytes by which the reserved peak grew. */
    public long reservedGrowth() {
        return reservedAfter - reservedBefore;
    }

    /** What is compared with what. */
    public record Key(Peak.Part part, String network, String layer, Phase phase, Category category, String workspace) {}

    /**
     * One difference.
     *
     * @param atPeakBefore bytes in the reserved peak; 0 when iterations are compared
     * @param inUseBefore bytes in the in-use peak; 0 when iterations are compared
     * @param allocatedBefore rounded bytes allocated in the compared iteration
     * @param arraysBefore their number
     * @param why what is behind it, as far as sizes and order tell
     */
    public record Row(
            Key key,
            long atPeakBefore,
            long atPeakAfter,
            long inUseBefore,
            long inUseAfter,
            long allocatedBefore,
            long allocatedAfter,
            long arraysBefore,
            long arraysAfter,
            String why) {

        long change() {
            return Math.max(
                    Math.max(Math.abs(atPeakAfter - atPeakBefore), Math.abs(inUseAfter - inUseBefore)),
                    Math.abs(allocatedAfter - allocatedBefore));
        }
    }

    /** Compares two runs: their peaks, and the iteration that each analysis profiled first. */
    public static TraceDiff ofRuns(TraceAnalysis before, TraceAnalysis after) {
        MemorySpace space = before.focus();
        Builder builder =
                new Builder(before.networks().size() > 1 || after.networks().size() > 1);
        builder.peak(builder.reserved, before.peak(Measure.RESERVED, space), 0);
        builder.peak(builder.reserved, after.peak(Measure.RESERVED, space), 1);
        builder.peak(builder.inUse, before.peak(Measure.IN_USE, space), 0);
        builder.peak(builder.inUse, after.peak(Measure.IN_USE, space), 1);
        before.profiles().stream().limit(1).forEach(profile -> builder.profile(profile, space, 0));
        after.profiles().stream().limit(1).forEach(profile -> builder.profile(profile, space, 1));
        return new TraceDiff(
                space,
                before.peakBytes(Measure.RESERVED, space),
                after.peakBytes(Measure.RESERVED, space),
                before.peakBytes(Measure.IN_USE, space),
                after.peakBytes(Measure.IN_USE, space),
                builder.rows());
    }

    /**
     * Compares two iterations of one run, both profiled.
     *
     * @throws IllegalArgumentException if one was not
     */
    public static TraceDiff ofIterations(TraceAnalysis run, int before, int after) {
        Builder builder = new Builder(run.networks().size() > 1);
        builder.profile(profile(run, before), run.focus(), 0);
        builder.profile(profile(run, after), run.focus(), 1);
        IterationRow first = run.iterations().get(before);
        IterationRow second = run.iterations().get(after);
        return new TraceDiff(
                run.focus(),
                first.peakReservedBytes(),
                second.peakReservedBytes(),
                first.peakInUseBytes(),
                second.peakInUseBytes(),
                builder.rows());
    }

    private static IterationProfile profile(TraceAnalysis run, int index) {
        return run.profiles().stream()
                .filter(profile -> profile.index() == index)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("iteration=" + index + ", expected one of 0.."
                        + (run.iterations().size() - 1) + " that was profiled"));
    }

    /** Gathers both sides by key. */
    private static final class Builder {
        private final boolean withNetworks;
        private final Map<Key, long[]> reserved = new LinkedHashMap<>();
        private final Map<Key, long[]> inUse = new LinkedHashMap<>();
        private final Map<Key, List<List<Long>>> sizes = new LinkedHashMap<>();

        Builder(boolean withNetworks) {
            this.withNetworks = withNetworks;
        }

        void peak(Map<Key, long[]> peaks, Optional<Peak> peak, int side) {
            peak.ifPresent(found -> found.shares().forEach(share -> {
                Key key = key(
                        share.part(),
                        share.network(),
                        share.layer(),
                        share.phase(),
                        share.category(),
                        share.workspace());
                peaks.computeIfAbsent(key, k -> new long[2])[side] += share.bytes();
            }));
        }

        void profile(IterationProfile profile, MemorySpace space, int side) {
            for (AllocationStep step : profile.steps()) {
                if (step.space() == space) {
                    Owner owner = step.owner();
                    Key key = key(
                            Peak.Part.ARRAYS,
                            owner.network(),
                            owner.layer(),
                            owner.phase(),
                            owner.category(),
                            owner.workspace());
                    sizes.computeIfAbsent(key, k -> List.of(new ArrayList<>(), new ArrayList<>()))
                            .get(side)
                            .add(step.roundedBytes());
                }
            }
        }

        List<Row> rows() {
            Set<Key> keys = new LinkedHashSet<>(reserved.keySet());
            keys.addAll(inUse.keySet());
            keys.addAll(sizes.keySet());
            List<Row> rows = new ArrayList<>();
            for (Key key : keys) {
                long[] peak = reserved.getOrDefault(key, new long[2]);
                long[] used = inUse.getOrDefault(key, new long[2]);
                List<List<Long>> both = sizes.getOrDefault(key, List.of(List.of(), List.of()));
                long before = sum(both.get(0));
                long after = sum(both.get(1));
                if (peak[0] != peak[1] || used[0] != used[1] || !both.get(0).equals(both.get(1))) {
                    rows.add(new Row(
                            key,
                            peak[0],
                            peak[1],
                            used[0],
                            used[1],
                            before,
                            after,
                            both.get(0).size(),
                            both.get(1).size(),
                            why(key, peak, used, both.get(0), both.get(1))));
                }
            }
            rows.sort(Comparator.comparingLong(Row::change)
                    .reversed()
                    .thenComparing(row -> row.key().toString()));
            return rows;
        }

        private Key key(
                Peak.Part part, String network, String layer, Phase phase, Category category, String workspace) {
            return new Key(part, withNetworks ? network : "", layer, phase, category, workspace);
        }

        private static String why(Key key, long[] peak, long[] used, List<Long> before, List<Long> after) {
            if (key.part() != Peak.Part.ARRAYS) {
                return "free part of the blocks of " + key.workspace() + " at the peak";
            }
            if (before.equals(after) && peak[0] == peak[1]) {
                return "the same at the reserved peak; " + (used[1] > used[0] ? "more" : "less")
                        + " of it is live at the in-use peak";
            }
            if (before.equals(after)) {
                return before.isEmpty()
                        ? "not allocated in the compared iteration; lives longer, or from before"
                        : "same arrays in each iteration; " + (peak[1] > peak[0] ? "more" : "fewer")
                                + " of them live at the peak";
            }
            if (before.size() != after.size()) {
                return counts(before, after);
            }
            return sizesChanged(before, after);
        }

        private static String counts(List<Long> before, List<Long> after) {
            int more = after.size() - before.size();
            String text = Count.of(Math.abs(more), more > 0 ? "more array" : "fewer array") + " in each iteration";
            int common = 0;
            while (common < Math.min(before.size(), after.size())
                    && before.get(common).equals(after.get(common))) {
                common++;
            }
            return common == Math.min(before.size(), after.size())
                    ? text + ", the others as before"
                    : text + "; the first difference is at array " + common;
        }

        private static String sizesChanged(List<Long> before, List<Long> after) {
            int changed = 0;
            double low = Double.MAX_VALUE;
            double high = 0;
            for (int i = 0; i < before.size(); i++) {
                if (!before.get(i).equals(after.get(i))) {
                    changed++;
                    double ratio = (double) after.get(i) / Math.max(1, before.get(i));
                    low = Math.min(low, ratio);
                    high = Math.max(high, ratio);
                }
            }
            String ratio = high - low < 0.005
                    ? String.format(Locale.ROOT, "x %.2f", low)
                    : String.format(Locale.ROOT, "x %.2f to %.2f", low, high);
            return changed + " of " + Count.of(before.size(), "array") + " changed size, " + ratio;
        }

        private static long sum(List<Long> sizes) {
            return sizes.stream().mapToLong(Long::longValue).sum();
        }
    }
}
