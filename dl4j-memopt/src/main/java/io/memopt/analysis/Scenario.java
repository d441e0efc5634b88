// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * What would have been reserved in one space had one thing been different: the events as recorded, some allocations left out
 * or replaced by others. Threading: confined.
 */
abstract class Scenario {
    final LiveSet live;
    private final MemorySpace space;
    /** Slots whose bytes this scenario does not hold. */
    private final BitSet skipped = new BitSet();

    private long now;
    private long peak;

    Scenario(LiveSet live, MemorySpace space) {
        this.live = live;
        this.space = space;
    }

    long peakBytes() {
        return peak;
    }

    long endBytes() {
        return now;
    }

    /** False when this scenario does not hold the bytes of a new allocation of its space with memory of its own. */
    abstract boolean holds(int slot);

    final void began(int slot) {
        if (!concerns(slot)) {
            return;
        }
        if (holds(slot)) {
            add(live.roundedBytes(slot));
        } else {
            skipped.set(slot);
        }
    }

    final void ended(int slot) {
        if (concerns(slot)) {
            if (skipped.get(slot)) {
                skipped.clear(slot);
                skippedEnded(slot);
            } else {
                add(-live.roundedBytes(slot));
            }
        }
    }

    /** Someone else's after all: held from now on if it was not. */
    final void moved(int slot) {
        if (concerns(slot) && skipped.get(slot) && holds(slot)) {
            skipped.clear(slot);
            add(live.roundedBytes(slot));
        }
    }

    /** The bytes go before their recorded end. */
    final void drop(int slot) {
        if (!skipped.get(slot)) {
            skipped.set(slot);
            add(-live.roundedBytes(slot));
        }
    }

    final void add(long bytes) {
        now += bytes;
        peak = Math.max(peak, now);
    }

    void skippedEnded(int slot) {}

    /** A thread ended an iteration. */
    void iterationEnded(long thread) {}

    /** A workspace was entered. */
    void entered(int workspace) {}

    private boolean concerns(int slot) {
        return live.space(slot) == space && live.kind(slot).ownsMemory();
    }

    /** Workspaces that spilled or grew have their largest size from the start. */
    static final class InitialSize extends Scenario {
        private final Map<Integer, WorkspaceBook.Entry> sized;
        private final Set<Integer> placed = new HashSet<>();

        InitialSize(LiveSet live, MemorySpace space, Map<Integer, WorkspaceBook.Entry> sized) {
            super(live, space);
            this.sized = sized;
        }

        @Override
        boolean holds(int slot) {
            WorkspaceBook.Entry entry = sized.get(live.workspace(slot));
            if (entry == null || live.kind(slot) == AllocationKind.DETACHED) {
                return true;
            }
            place(entry);
            return false;
        }

        @Override
        void entered(int workspace) {
            WorkspaceBook.Entry entry = sized.get(workspace);
            if (entry != null) {
                place(entry);
            }
        }

        @Override
        void skippedEnded(int slot) {
            WorkspaceBook.Entry entry = sized.get(live.workspace(slot));
            boolean last = entry != null
                    && live.kind(slot) == AllocationKind.WORKSPACE_BLOCK
                    && live.event() == entry.lastBlockFreeEvent
                    && entry.blockNow() == 0;
            if (entry != null && last) {
                add(-entry.needed());
            }
        }

        private void place(WorkspaceBook.Entry entry) {
            if (placed.add(entry.info.id())) {
                add(entry.needed());
            }
        }
    }

    /** Results of forward passes outside training lie in a workspace of the calling thread. */
    static final class ResultsInWorkspace extends Scenario {
        private final IntPredicate results;
        private final ThreadBook threads;
        private final Set<Long> placed = new HashSet<>();

        /** {@code results}: whether detached arrays of an owner, by number, are results. */
        ResultsInWorkspace(LiveSet live, MemorySpace space, IntPredicate results, ThreadBook threads) {
            super(live, space);
            this.results = results;
            this.threads = threads;
        }

        @Override
        boolean holds(int slot) {
            boolean result = live.kind(slot) == AllocationKind.DETACHED && results.test(live.owner(slot));
            long thread = live.thread(slot);
            if (result && placed.add(thread)) {
                add(threads.entry(thread, live.startNanos(slot)).maxPassBytes(results));
            }
            return !result;
        }
    }

    /** Networks' workspaces of a thread share an arena, from when the first of them is used to the end. */
    static final class PlannedArenas extends Scenario {
        private final Map<Long, Long> heights;
        private final WorkspaceBook workspaces;
        private final Set<Long> placed = new HashSet<>();

        /** {@code heights} in bytes, by thread. */
        PlannedArenas(LiveSet live, MemorySpace space, Map<Long, Long> heights, WorkspaceBook workspaces) {
            super(live, space);
            this.heights = heights;
            this.workspaces = workspaces;
        }

        @Override
        boolean holds(int slot) {
            return live.kind(slot) == AllocationKind.DETACHED || !serves(live.workspace(slot));
        }

        @Override
        void entered(int workspace) {
            serves(workspace);
        }

        private boolean serves(int workspace) {
            WorkspaceBook.Entry entry = workspaces.find(workspace).orElse(null);
            if (entry == null || !NetworkWorkspaces.serves(entry.info.name())) {
                return false;
            }
            Long height = heights.get(entry.info.threadId());
            if (height != null && placed.add(entry.info.threadId())) {
                add(height);
            }
            return height != null;
        }
    }

    /** Only some allocations are made, e.g. blocks of the threads that remain. */
    static final class Without extends Scenario {
        private final IntPredicate gone;

        /** All but those slots that {@code gone} answers true for. */
        Without(LiveSet live, MemorySpace space, IntPredicate gone) {
            super(live, space);
            this.gone = gone;
        }

        @Override
        boolean holds(int slot) {
            return !gone.test(slot);
        }
    }

    /** Some workspaces are destroyed right after they were entered for the last time. */
    static final class DestroyedAfterLastUse extends Scenario {
        private final Map<Integer, Long> lastEnterEvents;
        private final Map<Integer, List<Integer>> blocks = new HashMap<>();

        DestroyedAfterLastUse(LiveSet live, MemorySpace space, Map<Integer, Long> lastEnterEvents) {
            super(live, space);
            this.lastEnterEvents = lastEnterEvents;
        }

        @Override
        boolean holds(int slot) {
            int workspace = live.workspace(slot);
            Long last = lastEnterEvents.get(workspace);
            if (last == null || live.kind(slot) == AllocationKind.DETACHED) {
                return true;
            }
            if (live.event() > last) {
                return false;
            }
            blocks.computeIfAbsent(workspace, key -> new ArrayList<>()).add(slot);
            return true;
        }

        @Override
        void entered(int workspace) {
            Long last = lastEnterEvents.get(workspace);
            if (last != null && last == live.event()) {
                for (int slot : blocks.getOrDefault(workspace, List.of())) {
                    if (live.isLive(slot) && live.workspace(slot) == workspace) {
                        drop(slot);
                    }
                }
            }
        }
    }

    /** Blocks of some workspaces have another size. */
    static final class OtherBlockSize extends Scenario {
        private final Map<Integer, Long> sizes;

        OtherBlockSize(LiveSet live, MemorySpace space, Map<Integer, Long> sizes) {
            super(live, space);
            this.sizes = sizes;
        }

        @Override
        boolean holds(int slot) {
            Long size = sizes.get(live.workspace(slot));
            if (size == null || live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
                return true;
            }
            add(Math.min(size, live.roundedBytes(slot)));
            return false;
        }

        @Override
        void skippedEnded(int slot) {
            Long size = sizes.get(live.workspace(slot));
            if (size != null) {
                add(-Math.min(size, live.roundedBytes(slot)));
            }
        }
    }

    /** Detached arrays of layers are closed at the end of the iteration that made them. */
    static final class ClosedEachIteration extends Scenario {
        private final IntPredicate closed;
        private final Map<Long, List<long[]>> pending = new HashMap<>();

        ClosedEachIteration(LiveSet live, MemorySpace space, IntPredicate closed) {
            super(live, space);
            this.closed = closed;
        }

        @Override
        boolean holds(int slot) {
            if (closed.test(slot)) {
                pending.computeIfAbsent(live.thread(slot), key -> new ArrayList<>())
                        .add(new long[] {slot, live.startEvent(slot)});
            }
            return true;
        }

        @Override
        void iterationEnded(long thread) {
            List<long[]> arrays = pending.remove(thread);
            if (arrays != null) {
                for (long[] array : arrays) {
                    int slot = (int) array[0];
                    if (live.isLive(slot) && live.startEvent(slot) == array[1]) {
                        drop(slot);
                    }
                }
            }
        }
    }
}
