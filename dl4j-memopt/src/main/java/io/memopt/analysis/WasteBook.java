// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/** Splits what is reserved at one moment as {@link Waste} says. Threading: confined. */
final class WasteBook {
    private final LiveSet live;
    private final Owners owners;
    private final FirstPass first;
    private final ThreadBook threads;
    private final ProcessBook process;
    /** Blocks that each workspace had so far in each space, to find their fill in the books of the first pass. */
    private final Map<Integer, int[]> blocksSeen = new HashMap<>();

    private final Map<Waste.Kind, Long> sums = new EnumMap<>(Waste.Kind.class);
    private final BitSet loose = new BitSet();
    /** Workspace arrays that were live; whether they were dead their last use will tell. */
    private final BitSet scoped = new BitSet();

    private long takenNanos;
    private long unknownBytes;
    private long reserved;
    private long neverFreed;

    WasteBook(LiveSet live, Owners owners, FirstPass first, ThreadBook threads, ProcessBook process) {
        this.live = live;
        this.owners = owners;
        this.first = first;
        this.threads = threads;
        this.process = process;
        for (Waste.Kind kind : Waste.Kind.values()) {
            sums.put(kind, 0L);
        }
    }

    void blockBegan(int slot) {
        blocksSeen
                .computeIfAbsent(live.workspace(slot), key -> new int[MemorySpace.values().length])[
                live.space(slot).ordinal()]++;
    }

    /** Looks at this moment. {@code actor} is the thread that acts: its workspaces are not idle. */
    void take(long actor, long timeNanos) {
        takenNanos = timeNanos;
        process.peak(timeNanos);
        Map<Long, Long> arraysByThread = new HashMap<>();
        Map<Integer, Boolean> withBlock = new HashMap<>();
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (live.isLive(slot)) {
                if (live.kind(slot) == AllocationKind.WORKSPACE_ARRAY) {
                    arraysByThread.merge(threadOf(slot), live.roundedBytes(slot), Long::sum);
                } else if (live.kind(slot) == AllocationKind.WORKSPACE_BLOCK) {
                    withBlock.put(live.workspace(slot), true);
                }
            }
        }
        arraysByThread.merge(actor, 1L, Long::sum);
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (!live.isLive(slot)) {
                continue;
            }
            switch (live.kind(slot)) {
                case WORKSPACE_BLOCK -> block(slot, arraysByThread.containsKey(threadOf(slot)));
                case WORKSPACE_ARRAY -> {
                    if (withBlock.containsKey(live.workspace(slot))) {
                        array(slot);
                        scoped.set(slot);
                    }
                }
                case SPILL, PINNED_SPILL, DETACHED -> {
                    reserved += live.roundedBytes(slot);
                    if (Detached.isLoose(live.kind(slot), owners.get(live.owner(slot)))) {
                        loose.set(slot);
                    } else {
                        array(slot);
                        scoped.set(slot, live.kind(slot) == AllocationKind.SPILL);
                    }
                }
            }
        }
    }

    /** The last use of an allocation; an array never seen in use is not called dead. */
    void lastUsed(int slot, long lastUseNanos, long span) {
        if (scoped.get(slot)) {
            scoped.clear(slot);
            if (span > 0 && lastUseNanos < takenNanos) {
                add(Waste.Kind.REQUESTED, -live.requestedBytes(slot));
                add(Waste.Kind.ROUNDING, live.requestedBytes(slot) - live.roundedBytes(slot));
                add(Waste.Kind.DEAD_IN_SCOPE, live.roundedBytes(slot));
            }
        }
    }

    void ended(int slot, long thread) {
        if (scoped.get(slot)) {
            scoped.clear(slot);
            unknownBytes += live.roundedBytes(slot);
        }
        if (loose.get(slot)) {
            loose.clear(slot);
            if (threads.isDeallocator(thread)) {
                add(Waste.Kind.GARBAGE, live.roundedBytes(slot));
            } else {
                array(slot);
            }
        }
    }

    Waste waste() {
        for (int slot = loose.nextSetBit(0); slot >= 0; slot = loose.nextSetBit(slot + 1)) {
            add(Waste.Kind.GARBAGE, live.roundedBytes(slot));
            neverFreed += live.roundedBytes(slot);
        }
        loose.clear();
        List<Waste.Part> parts = new ArrayList<>();
        known(parts, Waste.Kind.REQUESTED, "asked for by live arrays");
        known(parts, Waste.Kind.ROUNDING, "taken minus asked for, live arrays");
        known(
                parts,
                Waste.Kind.GARBAGE,
                "detached arrays outside networks that a deallocator thread freed later, or nobody (" + neverFreed
                        + " B) by the end of the trace; an upper bound, for some were still in use");
        known(parts, Waste.Kind.OVER_ALLOCATION, "part of blocks that was never filled while they existed");
        known(parts, Waste.Kind.FREE_NOW, "part of blocks that was free then and filled at other times");
        known(parts, Waste.Kind.IDLE_THREADS, "blocks of threads that had no array in any workspace");
        known(parts, Waste.Kind.PINNED_MIRRORS, "host blocks behind device workspaces");
        if (first.lastUses > 0) {
            known(
                    parts,
                    Waste.Kind.DEAD_IN_SCOPE,
                    "arrays that were used no more and held to the end of their scope; the use of " + unknownBytes
                            + " B was not recorded");
        } else {
            unknown(parts, Waste.Kind.DEAD_IN_SCOPE, "the trace has no events for the use of arrays");
        }
        unknown(parts, Waste.Kind.POOL_FREE, "the trace has no events of a pool below ND4J");
        if (process.atPeak().isPresent()) {
            parts.add(new Waste.Part(
                    Waste.Kind.UNATTRIBUTED,
                    process.atPeak(),
                    String.format(
                            Locale.ROOT,
                            "on top of what is reserved, host only; from the sample %.1f s from the peak",
                            process.distanceNanos() / 1e9)));
        } else {
            unknown(parts, Waste.Kind.UNATTRIBUTED, "the trace does not record the resident size of the process");
        }
        return new Waste(reserved, parts);
    }

    private void block(int slot, boolean busy) {
        long bytes = live.roundedBytes(slot);
        reserved += bytes;
        WorkspaceBook.Entry entry = first.workspaces.find(live.workspace(slot)).orElse(null);
        if (entry != null && entry.primary() != live.space(slot)) {
            add(Waste.Kind.PINNED_MIRRORS, bytes);
            return;
        }
        if (!busy) {
            add(Waste.Kind.IDLE_THREADS, bytes);
            return;
        }
        long filled = live.arrayBytes(live.workspace(slot));
        long most = entry == null ? bytes : Math.max(filled, fillOf(entry, slot));
        long over = Math.max(0, bytes - most);
        add(Waste.Kind.OVER_ALLOCATION, over);
        add(Waste.Kind.FREE_NOW, bytes - over - filled);
    }

    private long fillOf(WorkspaceBook.Entry entry, int slot) {
        int space = live.space(slot).ordinal();
        int[] seen = blocksSeen.get(live.workspace(slot));
        List<Long> fills = entry.fills.get(space);
        int index = (seen == null ? fills.size() : seen[space]) - 1;
        return index >= 0 && index < fills.size() ? fills.get(index) : live.roundedBytes(slot);
    }

    private void array(int slot) {
        add(Waste.Kind.REQUESTED, live.requestedBytes(slot));
        add(Waste.Kind.ROUNDING, live.roundedBytes(slot) - live.requestedBytes(slot));
    }

    private long threadOf(int slot) {
        return first.workspaces
                .find(live.workspace(slot))
                .map(entry -> entry.info.threadId())
                .orElse(live.thread(slot));
    }

    private void known(List<Waste.Part> parts, Waste.Kind kind, String remark) {
        parts.add(new Waste.Part(kind, OptionalLong.of(sums.getOrDefault(kind, 0L)), remark));
    }

    private static void unknown(List<Waste.Part> parts, Waste.Kind kind, String remark) {
        parts.add(new Waste.Part(kind, OptionalLong.empty(), "unknown: " + remark));
    }

    private void add(Waste.Kind kind, long bytes) {
        sums.merge(kind, bytes, Long::sum);
    }
}
