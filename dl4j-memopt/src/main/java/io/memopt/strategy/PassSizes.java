// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * How many bytes the passes of one network need in an arena, and what follows for passes that were not seen yet:
 *
 * <ul>
 *   <li>for another batch, a straight line through two that were seen, with a little room for rounding;
 *   <li>for other lengths with a batch that was seen, the most that any of them needed.
 * </ul>
 *
 * <p>What a kind of pass has not needed for a while (a kind: training, with the cuts of its passes, or one method of inference) is not
 * expected any more, so an outlier is forgotten. Bounded: {@value #MAX_KINDS} kinds with {@value #MAX_PASSES} passes each, the oldest give way.
 *
 * <p>Threading: safe.
 */
final class PassSizes {
    static final int MAX_KINDS = 64;
    static final int MAX_PASSES = 256;

    /** Each array is rounded up, so that sums are not quite straight: 4 KiB and 0.4 %. */
    private static final long ROUNDING = 4096;

    private static final int ROUNDING_SHARE = 256;

    private final int patience;
    private final Map<String, Kind> kinds = newest(MAX_KINDS);

    /**
     * Nothing known.
     *
     * @param patience passes of a kind after which what they did not need is forgotten
     */
    PassSizes(int patience) {
        this.patience = patience;
    }

    /** Bytes that the arena should have when a pass of {@code key} begins; 0 when nothing is known. */
    synchronized long room(RegionKey key) {
        Kind kind = kinds.get(key.kind());
        return kind == null ? 0 : Math.max(kind.known(key), kind.expected(key.batch(), patience));
    }

    /** A pass of {@code key} needed so much. */
    synchronized void needed(RegionKey key, long bytes) {
        kinds.computeIfAbsent(key.kind(), fresh -> new Kind()).needed(key, bytes);
    }

    /** What was needed lately, the latest last. */
    synchronized Map<RegionKey, Long> recent() {
        Map<RegionKey, Long> recent = new LinkedHashMap<>();
        kinds.values()
                .forEach(kind -> kind.passes.forEach((key, need) -> {
                    if (kind.isRecent(need, patience)) {
                        recent.put(key, need.bytes);
                    }
                }));
        return recent;
    }

    private static <K, V> Map<K, V> newest(int limit) {
        return new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
                return size() > limit;
            }
        };
    }

    /** Bytes, and when they were needed last. */
    private record Need(long bytes, long pass) {}

    /** Passes that differ in shapes only. */
    private static final class Kind {
        /** Passes for which expectations hold, as a share of patience; making them anew for each pass would be dear. */
        private static final int RENEWALS = 8;

        private final Map<RegionKey, Need> passes = newest(MAX_PASSES);
        /** What is expected, by batch. */
        private final Map<Integer, Long> expected = new HashMap<>();

        private long count;
        private long renewal;

        void needed(RegionKey key, long bytes) {
            count++;
            Need before = passes.get(key);
            if (before == null || before.bytes < bytes) {
                expected.clear();
            }
            // A pass that an exception ended early needed less than it will.
            passes.merge(key, new Need(bytes, count), (old, now) -> new Need(Math.max(old.bytes, bytes), count));
        }

        boolean isRecent(Need need, int patience) {
            return count - need.pass < patience;
        }

        long known(RegionKey key) {
            Need need = passes.get(key);
            return need == null ? 0 : need.bytes;
        }

        /** The most that passes with so many examples are expected to need, whatever their other dimensions. */
        long expected(int batch, int patience) {
            if (count >= renewal) {
                expected.clear();
                renewal = count + Math.max(1, patience / RENEWALS);
            }
            Long known = expected.get(batch);
            if (known == null) {
                known = expect(batch, patience);
                expected.put(batch, known);
            }
            return known;
        }

        private long expect(int batch, int patience) {
            Map<String, TreeMap<Integer, Long>> lines = new HashMap<>();
            passes.forEach((key, need) -> {
                if (isRecent(need, patience)) {
                    lines.computeIfAbsent(key.likeness(), fresh -> new TreeMap<>())
                            .merge(key.batch(), need.bytes, Math::max);
                }
            });
            return lines.values().stream()
                    .mapToLong(line -> at(batch, line))
                    .max()
                    .orElse(0);
        }

        private static long at(int batch, NavigableMap<Integer, Long> byBatch) {
            Long seen = byBatch.get(batch);
            if (seen != null) {
                return seen;
            }
            Map<Integer, Long> line = byBatch.tailMap(NetworkPlans.MIN_BATCH, true);
            if (line.size() < 2 || batch < NetworkPlans.MIN_BATCH) {
                return 0;
            }
            return onLine(batch, byBatch.ceilingEntry(NetworkPlans.MIN_BATCH), byBatch.lastEntry());
        }

        private static long onLine(int batch, Map.Entry<Integer, Long> low, Map.Entry<Integer, Long> high) {
            double slope = (double) (high.getValue() - low.getValue()) / (high.getKey() - low.getKey());
            long bytes = (long) Math.ceil(low.getValue() + slope * (batch - low.getKey()));
            return Math.max(0, bytes + bytes / ROUNDING_SHARE + ROUNDING);
        }
    }
}
