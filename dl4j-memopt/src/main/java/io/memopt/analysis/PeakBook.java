// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;

/** What was live at given events, and until when the largest of it lived. Threading: confined. */
final class PeakBook {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    private final LiveSet live;
    private final Owners owners;
    private final WorkspaceBook workspaces;
    private final int maxHolders;
    private final List<Snapshot> snapshots = new ArrayList<>();
    private final Map<Integer, List<Holder>> watched = new HashMap<>();

    PeakBook(LiveSet live, Owners owners, WorkspaceBook workspaces, int maxHolders) {
        this.live = live;
        this.owners = owners;
        this.workspaces = workspaces;
        this.maxHolders = maxHolders;
    }

    /** Takes note of this moment as the peak of a sum. */
    void take(Measure measure, MemorySpace space, FirstPass.Top top) {
        Map<List<Object>, long[]> shares = new HashMap<>();
        PriorityQueue<Integer> largest = new PriorityQueue<>(Comparator.comparingLong(live::roundedBytes));
        Map<Integer, long[]> blocks = new HashMap<>();
        long allocations = 0;
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (!live.isLive(slot) || live.space(slot) != space) {
                continue;
            }
            AllocationKind kind = live.kind(slot);
            if (kind != AllocationKind.WORKSPACE_BLOCK) {
                add(shares, Peak.Part.ARRAYS, owners.get(live.owner(slot)), live.roundedBytes(slot), 1);
            }
            if (measure == Measure.RESERVED) {
                book(blocks, slot);
            }
            if (measure == Measure.RESERVED ? kind.ownsMemory() : kind != AllocationKind.WORKSPACE_BLOCK) {
                allocations++;
                largest.add(slot);
                if (largest.size() > maxHolders) {
                    largest.poll();
                }
            }
        }
        blocks.forEach((workspace, sums) -> addFree(shares, workspace, sums));
        Snapshot snapshot = new Snapshot(measure, space, top, shares, allocations, new ArrayList<>());
        largest.forEach(slot -> snapshot.holders.add(watch(slot)));
        snapshots.add(snapshot);
    }

    void ended(int slot, long timeNanos) {
        if (!watched.isEmpty()) {
            List<Holder> holders = watched.remove(slot);
            if (holders != null) {
                holders.forEach(holder -> holder.end(OptionalLong.of(timeNanos)));
            }
        }
    }

    List<Peak> peaks() {
        watched.values().forEach(holders -> holders.forEach(holder -> holder.end(OptionalLong.empty())));
        watched.clear();
        return snapshots.stream().map(this::peak).toList();
    }

    private Peak peak(Snapshot snapshot) {
        List<Peak.Share> shares = new ArrayList<>();
        snapshot.shares.forEach((key, sums) -> {
            if (sums[0] != 0) {
                shares.add(share(key, sums));
            }
        });
        shares.sort(Comparator.comparingLong(Peak.Share::bytes)
                .reversed()
                .thenComparing(share -> share.part()
                        + share.network()
                        + share.layer()
                        + share.phase()
                        + share.category()
                        + share.workspace()));
        FirstPass.Top top = snapshot.top;
        return new Peak(
                snapshot.measure,
                snapshot.space,
                top.bytes,
                top.timeNanos,
                top.event,
                top.iteration,
                owners.get(top.owner),
                shares,
                snapshot.holders.stream()
                        .map(Holder::life)
                        .sorted(Comparator.comparingLong(Lifetime::roundedBytes)
                                .reversed()
                                .thenComparingLong(Lifetime::startNanos))
                        .toList(),
                snapshot.allocations);
    }

    private static Peak.Share share(List<Object> key, long[] sums) {
        return new Peak.Share(
                (Peak.Part) key.get(0),
                (Category) key.get(1),
                (String) key.get(2),
                (String) key.get(3),
                (Phase) key.get(4),
                (String) key.get(5),
                sums[0],
                sums[1]);
    }

    private static void add(Map<List<Object>, long[]> shares, Peak.Part part, Owner owner, long bytes, long count) {
        long[] sums = shares.computeIfAbsent(
                List.of(part, owner.category(), owner.network(), owner.layer(), owner.phase(), owner.workspace()),
                key -> new long[2]);
        sums[0] += bytes;
        sums[1] += count;
    }

    /** Bytes of blocks and of arrays in them, blocks and one of their owners, by workspace instance. */
    private void book(Map<Integer, long[]> blocks, int slot) {
        int workspace = live.workspace(slot);
        boolean block = live.kind(slot) == AllocationKind.WORKSPACE_BLOCK;
        if (block || live.kind(slot) == AllocationKind.WORKSPACE_ARRAY) {
            long[] sums = blocks.computeIfAbsent(workspace, key -> new long[] {0, 0, 0, live.owner(slot)});
            sums[block ? 0 : 1] += live.roundedBytes(slot);
            sums[2] += block ? 1 : 0;
        }
    }

    private void addFree(Map<List<Object>, long[]> shares, int workspace, long[] sums) {
        Owner owner = owners.get((int) sums[3]);
        String name = workspace == WorkspaceTable.NONE
                ? owner.workspace()
                : workspaces.find(workspace).map(entry -> entry.info.name()).orElse(owner.workspace());
        Peak.Part part = sums[0] >= sums[1] ? Peak.Part.BLOCK_FREE : Peak.Part.BLOCK_UNKNOWN;
        Owner free = new Owner(owner.network(), "", Phase.NONE, owner.category(), name);
        add(shares, part, free, sums[0] - sums[1], sums[2]);
    }

    private Holder watch(int slot) {
        Holder holder = new Holder(slot);
        watched.computeIfAbsent(slot, key -> new ArrayList<>()).add(holder);
        return holder;
    }

    private record Snapshot(
            Measure measure,
            MemorySpace space,
            FirstPass.Top top,
            Map<List<Object>, long[]> shares,
            long allocations,
            List<Holder> holders) {}

    /** A life that goes on. */
    private final class Holder {
        private final int slot;
        private Lifetime life;

        Holder(int slot) {
            this.slot = slot;
            this.life = now(OptionalLong.empty());
        }

        void end(OptionalLong timeNanos) {
            life = now(timeNanos);
        }

        Lifetime life() {
            return life;
        }

        private Lifetime now(OptionalLong end) {
            return new Lifetime(
                    live.kind(slot),
                    live.space(slot),
                    live.address(slot),
                    live.requestedBytes(slot),
                    live.roundedBytes(slot),
                    live.startNanos(slot),
                    end,
                    owners.get(live.owner(slot)),
                    live.workspace(slot),
                    live.thread(slot));
        }
    }

    /** All spaces, the given one first. */
    static List<MemorySpace> startingWith(MemorySpace focus) {
        List<MemorySpace> spaces = new ArrayList<>(Arrays.asList(SPACES));
        spaces.remove(focus);
        spaces.add(0, focus);
        return spaces;
    }
}
