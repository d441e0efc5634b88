// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.plan.PlanProblem;
import io.memopt.analysis.LiveSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * One arena for each thread that holds the arrays of all its workspaces at planned offsets, as high as its worst stretch needs
 * and held from its first array to the end; arrays outside of workspaces have memory of their own. Arrays are aligned to 32 B
 * as in ND4J and live as long as they were recorded.
 *
 * <p>A thread is planned from one moment at which none of its workspace arrays is live to the next, so that memory follows
 * the longest such stretch and not the trace. One that never leaves its workspaces is planned in stretches of
 * {@link #MOST} arrays; what is live at such a border counts in both.
 */
final class PlannedArena implements Player {
    /** Arrays of a stretch; 200 000 take 10 MiB and, planned greedily, less than a second. */
    private static final int MOST = 200_000;

    private static final long ALIGNMENT = 32;

    /** Greedy methods take milliseconds; rows must not depend on how fast the machine is. */
    private static final Duration UNHURRIED = Duration.ofDays(1);

    /** The arena of one thread. */
    private static final class Arena {
        /** Size and start of what is live, by slot. */
        private final Map<Integer, long[]> open = new TreeMap<>();

        private PlanProblem.Builder stretch = PlanProblem.builder();
        private int length;
        private long height;

        void began(int slot, long event, long bytes) {
            open.put(slot, new long[] {bytes, event});
        }

        void ended(int slot, long event) {
            long[] array = open.remove(slot);
            if (array != null) {
                add(array, event);
                if (open.isEmpty()) {
                    plan();
                } else if (length == MOST) {
                    close(event);
                }
            }
        }

        private void add(long[] array, long event) {
            if (array[1] < event) {
                stretch.add(array[1], event, array[0]);
                length++;
            }
        }

        /** Plans up to an event; what is live goes on from there. */
        void close(long event) {
            for (long[] array : open.values()) {
                add(array, event);
                array[1] = event;
            }
            plan();
        }

        private void plan() {
            PlanOptions options = new PlanOptions(OptionalLong.of(height), UNHURRIED, false);
            height = Math.max(
                    height, MemoryPlanner.plan(stretch.build(), options).height());
            stretch = PlanProblem.builder();
            length = 0;
        }
    }

    /** The fullest moment while the set of arenas was the same. */
    private static final class Epoch {
        private final int arenas;
        private long own = -1;
        private long requested;
        private long rounded;

        Epoch(int arenas) {
            this.arenas = arenas;
        }

        void see(long ownNow, long requestedNow, long roundedNow) {
            if (ownNow > own || (ownNow == own && roundedNow > rounded)) {
                own = ownNow;
                requested = requestedNow;
                rounded = roundedNow;
            }
        }
    }

    private final Map<Long, Arena> byThread = new HashMap<>();
    private final List<Arena> arenas = new ArrayList<>();
    private final List<Epoch> epochs = new ArrayList<>(List.of(new Epoch(0)));
    private long own;
    private long requested;
    private long rounded;
    private long calls;
    private long lastEvent;

    @Override
    public void began(LiveSet live, int slot, boolean array, boolean outlives) {
        long bytes = live.requestedBytes(slot);
        if (!array || bytes == 0) {
            return;
        }
        lastEvent = live.event();
        long size = Rounding.up(bytes, ALIGNMENT);
        requested += bytes;
        rounded += size;
        if (live.kind(slot) == AllocationKind.WORKSPACE_ARRAY) {
            arena(live.thread(slot)).began(slot, live.startEvent(slot), size);
        } else {
            own += size;
            calls++;
        }
        epochs.get(epochs.size() - 1).see(own, requested, rounded);
    }

    private Arena arena(long thread) {
        return byThread.computeIfAbsent(thread, t -> {
            Arena arena = new Arena();
            arenas.add(arena);
            epochs.add(new Epoch(arenas.size()));
            return arena;
        });
    }

    @Override
    public void ended(LiveSet live, int slot, boolean array) {
        long bytes = live.requestedBytes(slot);
        if (!array || bytes == 0) {
            return;
        }
        lastEvent = live.event();
        long size = Rounding.up(bytes, ALIGNMENT);
        requested -= bytes;
        rounded -= size;
        if (live.kind(slot) == AllocationKind.WORKSPACE_ARRAY) {
            arena(live.thread(slot)).ended(slot, live.event());
        } else {
            own -= size;
            calls++;
        }
    }

    @Override
    public ReplayRow row(boolean stepless) {
        arenas.forEach(arena -> arena.close(lastEvent + 1));
        long peak = 0;
        Epoch fullest = epochs.get(0);
        for (Epoch epoch : epochs) {
            long held = held(epoch.arenas) + Math.max(0, epoch.own);
            if (held > peak) {
                peak = held;
                fullest = epoch;
            }
        }
        return new ReplayRow(
                Allocators.PLANNED,
                peak,
                fullest.requested,
                fullest.rounded,
                0,
                held(arenas.size()) + own,
                calls + arenas.size(),
                Allocators.remark(Allocators.PLANNED));
    }

    private long held(int first) {
        return arenas.subList(0, first).stream()
                .mapToLong(arena -> arena.height)
                .sum();
    }
}
