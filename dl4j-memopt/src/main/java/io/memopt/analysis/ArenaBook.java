// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How high one arena for each thread must be that holds its workspace arrays at planned offsets. An array lives from its birth
 * to its last use where the trace tells that, else to the end of its scope; time is counted in births of workspace arrays by
 * the thread, as the recorder counts it.
 *
 * <p>A thread is planned from one moment at which none of its arrays is live to the next, so that memory follows the longest
 * such stretch and not the trace. Stretches like an earlier one are not planned again, and after {@value #DIFFERENT} different
 * ones only those that have more bytes live at once than all before. A thread that never leaves its workspaces is planned in
 * stretches of {@value #MOST} arrays; what is live at such a border counts in both.
 *
 * <p>Threading: confined.
 */
public final class ArenaBook {
    /** Arrays of a stretch; 200 000 take 10 MiB and, planned greedily, less than a second. */
    private static final int MOST = 200_000;

    /** Different stretches that are planned for each thread whatever their load; a millisecond and 64 B each. */
    private static final int DIFFERENT = 256;

    /** Greedy methods take milliseconds; figures must not depend on how fast the machine is. */
    private static final Duration UNHURRIED = Duration.ofDays(1);

    private static final long NONE = -1;

    private final boolean usesOnly;
    private final Map<Long, Arena> byThread = new HashMap<>();
    private final List<Arena> arenas = new ArrayList<>();
    private @Nullable Arena latest;
    /** By slot: the arena of the array, null for none. */
    private @Nullable Arena[] places = new @Nullable Arena[64];

    private long[] starts = new long[64];
    private long[] ends = new long[64];
    private long[] bytes = new long[64];
    private long[] requested = new long[64];
    private boolean[] toScopeEnd = new boolean[64];
    private long withUse;
    private long withoutUse;

    /**
     * An empty book.
     *
     * @param usesOnly stretches of which no last use is known are not planned
     */
    public ArenaBook(boolean usesOnly) {
        this.usesOnly = usesOnly;
    }

    /**
     * One arena.
     *
     * @param heightBytes most that a stretch needs
     * @param loadBytes most bytes of arrays live at once, rounded
     * @param requestedBytes what was asked for by those arrays
     */
    public record Height(long thread, long heightBytes, long loadBytes, long requestedBytes) {}

    /** Whether the array is one whose birth counts: in a workspace, or spilled from one, that is no ring buffer. */
    public static boolean counts(AllocationKind kind, int workspace, boolean circular) {
        boolean array = kind == AllocationKind.WORKSPACE_ARRAY || kind == AllocationKind.SPILL;
        return array && workspace != WorkspaceTable.NONE && !circular;
    }

    /**
     * An array that {@link #counts} was born.
     *
     * @param placed whether it lies in the arena of its thread
     * @param keep whether it lies there to the end of its scope, whatever its last use
     */
    public void born(LiveSet live, int slot, boolean placed, boolean keep) {
        reserve(slot);
        Arena arena = arena(live.thread(slot));
        places[slot] = null;
        if (placed && live.roundedBytes(slot) > 0) {
            places[slot] = arena;
            starts[slot] = arena.births;
            ends[slot] = NONE;
            bytes[slot] = live.roundedBytes(slot);
            requested[slot] = live.requestedBytes(slot);
            toScopeEnd[slot] = keep;
            arena.open();
        }
        arena.births++;
    }

    /** The last use of the array is known; {@code span} as in {@code MemoryEvent.LastUse}. */
    public void lastUsed(int slot, long span) {
        Arena arena = slot < places.length ? places[slot] : null;
        if (arena != null) {
            ends[slot] = Math.min(arena.births, starts[slot] + Math.max(1, span));
        }
    }

    /** The allocation ended; true if it was an array in an arena. */
    public boolean ended(int slot) {
        Arena arena = slot < places.length ? places[slot] : null;
        if (arena == null) {
            return false;
        }
        places[slot] = null;
        boolean told = ends[slot] != NONE;
        withUse += told ? 1 : 0;
        withoutUse += told ? 0 : 1;
        arena.usesTold |= told;
        arena.add(starts[slot], told && !toScopeEnd[slot] ? ends[slot] : arena.births, bytes[slot], requested[slot]);
        arena.closed();
        return true;
    }

    /** Ends what is live. */
    public void close() {
        for (int slot = 0; slot < places.length; slot++) {
            ended(slot);
        }
    }

    /** Arenas that were begun. */
    public int size() {
        return arenas.size();
    }

    /** All arenas in the order in which they were begun. */
    public List<Height> heights() {
        return arenas.stream()
                .map(arena -> new Height(arena.thread, arena.height, arena.load, arena.requestedLoad))
                .toList();
    }

    /** Arrays that ended and whose last use was told. */
    public long arraysWithUse() {
        return withUse;
    }

    /** Arrays that ended and whose last use was not told. */
    public long arraysWithoutUse() {
        return withoutUse;
    }

    private Arena arena(long thread) {
        Arena arena = latest;
        if (arena == null || arena.thread != thread) {
            arena = byThread.computeIfAbsent(thread, Arena::new);
            latest = arena;
        }
        return arena;
    }

    private void reserve(int slot) {
        if (slot >= places.length) {
            int size = Math.max(slot + 1, places.length * 2);
            places = Arrays.copyOf(places, size);
            starts = Arrays.copyOf(starts, size);
            ends = Arrays.copyOf(ends, size);
            bytes = Arrays.copyOf(bytes, size);
            requested = Arrays.copyOf(requested, size);
            toScopeEnd = Arrays.copyOf(toScopeEnd, size);
        }
    }

    /** The arena of one thread. */
    private final class Arena {
        private final long thread;
        private final Set<Long> known = new HashSet<>();
        private ArenaStretch stretch = new ArenaStretch(0);
        private boolean begun;
        private boolean usesTold;
        private int live;
        private long births;
        private long height;
        private long load;
        private long requestedLoad;

        Arena(long thread) {
            this.thread = thread;
        }

        void open() {
            if (!begun) {
                begun = true;
                arenas.add(this);
            }
            if (live++ == 0) {
                stretch = new ArenaStretch(births);
            }
        }

        void add(long start, long end, long size, long asked) {
            long from = Math.max(start, stretch.first());
            if (from < end) {
                stretch.add(from, end, size, asked);
            }
        }

        void closed() {
            live--;
            if (live == 0) {
                plan();
            } else if (stretch.count() >= MOST) {
                cut();
            }
        }

        /** Plans up to now; what is live goes on from here. */
        private void cut() {
            for (int slot = 0; slot < places.length; slot++) {
                if (places[slot] == this) {
                    add(starts[slot], births, bytes[slot], requested[slot]);
                }
            }
            plan();
            stretch = new ArenaStretch(births);
        }

        private void plan() {
            boolean wanted = usesTold || !usesOnly;
            usesTold = false;
            if (stretch.count() == 0 || !wanted || known.contains(stretch.signature())) {
                return;
            }
            long[] most = stretch.load();
            if (known.size() < DIFFERENT) {
                known.add(stretch.signature());
            } else if (most[0] <= load) {
                return;
            }
            if (most[0] > load) {
                load = most[0];
                requestedLoad = most[1];
            }
            PlanOptions options = new PlanOptions(OptionalLong.of(height), UNHURRIED, false);
            height = Math.max(
                    height, MemoryPlanner.plan(stretch.problem(), options).height());
        }
    }
}
