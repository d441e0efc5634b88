// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongBinaryOperator;

/**
 * For each prefix of a chain the ways to cut it of which none keeps as few bytes in as little time as another: ascending in kept bytes,
 * descending in time. Of more than there is room for, an even selection stays, with the first and the last. Primitive and in place, since a
 * search makes millions of them. Threading: confined.
 */
final class PrefixFronts {
    private final int room;
    private final LongBinaryOperator together;
    private final int[] size;
    private final long[][] kept;
    private final long[][] nanos;
    /** The prefix that a way goes on from, and which of its ways. */
    private final int[][] from;

    private final int[][] place;
    private final long[] mergedKept;
    private final long[] mergedNanos;
    private final int[] mergedFrom;
    private final int[] mergedPlace;

    /**
     * All empty but for prefix 0, which has one way, keeps nothing and takes no time.
     *
     * @param prefixes number of prefixes
     * @param room ways of each at most, at least 2
     * @param together kept bytes of a way and of one more segment; not less than either, and not less for more of the first
     */
    PrefixFronts(int prefixes, int room, LongBinaryOperator together) {
        this.room = room;
        this.together = together;
        this.size = new int[prefixes];
        this.kept = new long[prefixes][room];
        this.nanos = new long[prefixes][room];
        this.from = new int[prefixes][room];
        this.place = new int[prefixes][room];
        this.mergedKept = new long[2 * room];
        this.mergedNanos = new long[2 * room];
        this.mergedFrom = new int[2 * room];
        this.mergedPlace = new int[2 * room];
        size[0] = 1;
    }

    int size(int prefix) {
        return size[prefix];
    }

    long kept(int prefix, int way) {
        return kept[prefix][way];
    }

    long nanos(int prefix, int way) {
        return nanos[prefix][way];
    }

    /** Prefixes that a way passes through, its own last, without the empty one. */
    List<Integer> path(int prefix, int way) {
        List<Integer> path = new ArrayList<>();
        int at = prefix;
        int which = way;
        while (at > 0) {
            path.add(0, at);
            int before = from[at][which];
            which = place[at][which];
            at = before;
        }
        return path;
    }

    void clear(int prefix) {
        size[prefix] = 0;
    }

    /**
     * Adds to {@code prefix} the ways of a shorter one, each with one more segment. One merge of two sorted lists.
     *
     * @param keeps bytes that the segment keeps
     * @param again time to compute it again
     * @param most kept bytes of ways worth adding
     */
    void extend(int prefix, int before, long keeps, long again, long most) {
        long[] ownKept = kept[prefix];
        long[] ownNanos = nanos[prefix];
        long[] itsKept = kept[before];
        long[] itsNanos = nanos[before];
        int theirs = upTo(before, keeps, most);
        int merged = 0;
        long least = Long.MAX_VALUE;
        int own = 0;
        int its = 0;
        while (own < size[prefix] || its < theirs) {
            long more = its < theirs ? together.applyAsLong(itsKept[its], keeps) : 0;
            boolean takesOwn = its == theirs
                    || (own < size[prefix] && isBefore(ownKept[own], ownNanos[own], more, itsNanos[its] + again));
            long time = takesOwn ? ownNanos[own] : itsNanos[its] + again;
            long bytes = takesOwn ? ownKept[own] : more;
            if (time < least) {
                least = time;
                merged -= merged > 0 && mergedKept[merged - 1] == bytes ? 1 : 0; // as many, in more time
                mergedKept[merged] = bytes;
                mergedNanos[merged] = time;
                mergedFrom[merged] = takesOwn ? from[prefix][own] : before;
                mergedPlace[merged] = takesOwn ? place[prefix][own] : its;
                merged++;
            }
            if (takesOwn) {
                own++;
            } else {
                its++;
            }
        }
        take(prefix, merged);
    }

    private static boolean isBefore(long kept, long nanos, long otherKept, long otherNanos) {
        return kept < otherKept || (kept == otherKept && nanos <= otherNanos);
    }

    /** Number of ways that keep at most {@code most} with one more segment. */
    private int upTo(int prefix, long keeps, long most) {
        int low = 0;
        int high = size[prefix];
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (together.applyAsLong(kept[prefix][middle], keeps) <= most) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void take(int prefix, int merged) {
        size[prefix] = Math.min(merged, room);
        for (int i = 0; i < size[prefix]; i++) {
            int chosen = merged <= room ? i : (int) ((long) i * (merged - 1) / (room - 1));
            kept[prefix][i] = mergedKept[chosen];
            nanos[prefix][i] = mergedNanos[chosen];
            from[prefix][i] = mergedFrom[chosen];
            place[prefix][i] = mergedPlace[chosen];
        }
    }
}
