// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import io.memopt.allocator.event.Count;
import io.memopt.analysis.ArenaBook;
import io.memopt.analysis.LiveSet;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * One arena for each thread that holds the arrays of all its workspaces, spilled ones included, at planned offsets: as high as
 * its worst stretch needs, see {@link ArenaBook}, and held from its first array to the end. Other arrays, those of ring buffers
 * among them, have memory of their own, aligned to 32 B as in ND4J.
 */
final class PlannedArena implements Player {
    private static final long ALIGNMENT = 32;

    /** The moment with most memory of their own while the set of arenas was the same. */
    private static final class Epoch {
        private final int arenas;
        private long own = -1;
        private long requested;

        Epoch(int arenas) {
            this.arenas = arenas;
        }

        void see(long ownNow, long requestedNow) {
            if (ownNow > own) {
                own = ownNow;
                requested = requestedNow;
            }
        }
    }

    private final IntPredicate circular;
    private final ArenaBook book = new ArenaBook(false);
    private final List<Epoch> epochs = new ArrayList<>(List.of(new Epoch(0)));
    private long own;
    private long requested;
    private long calls;

    /**
     * Nothing heard yet.
     *
     * @param circular whether a workspace is a ring buffer
     */
    PlannedArena(IntPredicate circular) {
        this.circular = circular;
    }

    @Override
    public void born(LiveSet live, int slot, boolean ofSpace) {
        int workspace = live.workspace(slot);
        if (ArenaBook.counts(live.kind(slot), workspace, circular.test(workspace))) {
            book.born(live, slot, ofSpace, false);
            if (book.size() >= epochs.size()) {
                epochs.add(new Epoch(book.size()));
                epochs.get(epochs.size() - 1).see(own, requested);
            }
        }
    }

    @Override
    public void began(LiveSet live, int slot, boolean array, boolean outlives) {
        if (hasOwn(live, slot, array)) {
            own += Rounding.up(live.requestedBytes(slot), ALIGNMENT);
            requested += live.requestedBytes(slot);
            calls++;
            epochs.get(epochs.size() - 1).see(own, requested);
        }
    }

    @Override
    public void lastUsed(int slot, long span) {
        book.lastUsed(slot, span);
    }

    @Override
    public void ended(LiveSet live, int slot, boolean array) {
        if (hasOwn(live, slot, array)) {
            own -= Rounding.up(live.requestedBytes(slot), ALIGNMENT);
            requested -= live.requestedBytes(slot);
            calls++;
        } else {
            book.ended(slot);
        }
    }

    private boolean hasOwn(LiveSet live, int slot, boolean array) {
        int workspace = live.workspace(slot);
        return array
                && live.requestedBytes(slot) > 0
                && !ArenaBook.counts(live.kind(slot), workspace, circular.test(workspace));
    }

    @Override
    public ReplayRow row(boolean stepless) {
        book.close();
        List<ArenaBook.Height> arenas = book.heights();
        Epoch fullest = epochs.get(0);
        long peak = 0;
        for (Epoch epoch : epochs) {
            long held = held(arenas, epoch.arenas) + Math.max(0, epoch.own);
            if (held > peak) {
                peak = held;
                fullest = epoch;
            }
        }
        List<ArenaBook.Height> there = arenas.subList(0, fullest.arenas);
        return new ReplayRow(
                Allocators.PLANNED,
                peak,
                fullest.requested
                        + there.stream()
                                .mapToLong(ArenaBook.Height::requestedBytes)
                                .sum(),
                Math.max(0, fullest.own)
                        + there.stream().mapToLong(ArenaBook.Height::loadBytes).sum(),
                0,
                held(arenas, arenas.size()) + own,
                calls + arenas.size(),
                Allocators.remark(Allocators.PLANNED) + "; " + lives());
    }

    private String lives() {
        if (book.arraysWithUse() == 0) {
            return "lives to the end of scopes, for the trace has no last uses";
        }
        return "lives to the last use"
                + (book.arraysWithoutUse() == 0
                        ? ""
                        : ", of " + Count.of(book.arraysWithoutUse(), "array") + " to the end of their scopes");
    }

    private static long held(List<ArenaBook.Height> arenas, int first) {
        return arenas.subList(0, first).stream()
                .mapToLong(ArenaBook.Height::heightBytes)
                .sum();
    }
}
