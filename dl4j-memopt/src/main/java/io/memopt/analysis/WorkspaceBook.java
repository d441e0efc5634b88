// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** What happened to each workspace instance. Threading: confined. */
final class WorkspaceBook {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    /** ND4J's alignment of arrays in a block, 32 in 1.0.0-M2.1 (16 before): the larger one never asks for too little. */
    private static final long ALIGNMENT = 32;

    private final IntFunction<Optional<WorkspaceInfo>> infos;
    private final Map<Integer, Entry> entries = new HashMap<>();
    private @Nullable Entry last;

    WorkspaceBook(IntFunction<Optional<WorkspaceInfo>> infos) {
        this.infos = infos;
    }

    /** The books of an instance; {@code owner} and {@code thread} help when its definition is lost. */
    Entry entry(int id, Owner owner, long thread, long time) {
        Entry recent = last;
        if (recent != null && recent.info.id() == id) {
            return recent;
        }
        Entry entry = entries.get(id);
        if (entry == null) {
            WorkspaceInfo info = infos.apply(id).orElse(new WorkspaceInfo(id, owner.workspace(), thread, "", false));
            entry = new Entry(info, time);
            entries.put(id, entry);
        }
        last = entry;
        return entry;
    }

    Optional<Entry> find(int id) {
        return Optional.ofNullable(entries.get(id));
    }

    Collection<Entry> all() {
        return entries.values();
    }

    List<WorkspaceRow> rows(long endNanos) {
        return entries.values().stream()
                .map(entry -> entry.row(endNanos))
                .sorted(Comparator.comparingLong(WorkspaceRow::maxBlockBytes)
                        .reversed()
                        .thenComparing(WorkspaceRow::id))
                .toList();
    }

    /** One instance. */
    static final class Entry {
        final WorkspaceInfo info;
        final long[] blockBytes = new long[SPACES.length];
        final List<List<Long>> fills = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        long maxBlock;
        long maxDeviceBlock;
        long filled;
        long maxFilled;
        long cycle;
        long needed;
        long scopes;
        long spills;
        long spilledBytes;
        /** Spills after the workspace had learned its size. */
        long lateSpills;

        long lastEntered;
        long lastEnterEvent = -1;
        long lastBlockFreeEvent = -1;
        private final long[] fillOfBlock = new long[SPACES.length];
        private double filledIntegral;
        private double filledTime;
        private double blockTime;
        private long sinceBlock;
        private long lastTime;

        Entry(WorkspaceInfo info, long time) {
            this.info = info;
            this.lastEntered = time;
            this.lastTime = time;
        }

        /** Enters the fill of the newest block of a space into the list. */
        private void endBlock(MemorySpace space) {
            List<Long> ofSpace = fills.get(space.ordinal());
            if (!ofSpace.isEmpty()) {
                ofSpace.set(ofSpace.size() - 1, fillOfBlock[space.ordinal()]);
            }
        }

        /** Brings the lists up to date at the end of a pass. */
        void close() {
            for (MemorySpace space : SPACES) {
                endBlock(space);
            }
        }

        void began(AllocationKind kind, MemorySpace space, long requested, long rounded, long time) {
            tick(time);
            switch (kind) {
                case WORKSPACE_BLOCK -> {
                    foldFill();
                    blockBytes[space.ordinal()] += rounded;
                    endBlock(space);
                    fills.get(space.ordinal()).add(filled);
                    fillOfBlock[space.ordinal()] = filled;
                    if (space == MemorySpace.DEVICE) {
                        maxDeviceBlock = Math.max(maxDeviceBlock, blockBytes[space.ordinal()]);
                    } else {
                        maxBlock = Math.max(maxBlock, blockBytes[space.ordinal()]);
                    }
                }
                case WORKSPACE_ARRAY -> {
                    filled += rounded;
                    cycle += rounded;
                    maxFilled = Math.max(maxFilled, filled);
                    for (int i = 0; i < SPACES.length; i++) {
                        if (filled > fillOfBlock[i]) {
                            fillOfBlock[i] = filled;
                        }
                    }
                }
                case SPILL, PINNED_SPILL -> {
                    spills++;
                    spilledBytes += rounded;
                    lateSpills += maxPrimaryBlock() > 0 ? 1 : 0;
                    cycle += (requested + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
                }
                case DETACHED -> {}
            }
        }

        void ended(AllocationKind kind, MemorySpace space, long rounded, long time, long event) {
            tick(time);
            if (kind == AllocationKind.WORKSPACE_BLOCK) {
                foldFill();
                blockBytes[space.ordinal()] -= rounded;
                lastBlockFreeEvent = event;
            } else if (kind == AllocationKind.WORKSPACE_ARRAY) {
                filled -= rounded;
                if (filled == 0) {
                    closeCycle();
                }
            }
        }

        void entered(long time, long event) {
            closeCycle();
            scopes++;
            lastEntered = time;
            lastEnterEvent = event;
        }

        private void closeCycle() {
            needed = Math.max(needed, cycle);
            cycle = 0;
        }

        /** Where its arrays lie; its blocks elsewhere are mirrors. */
        MemorySpace primary() {
            if (!fills.get(MemorySpace.DEVICE.ordinal()).isEmpty()) {
                return MemorySpace.DEVICE;
            }
            return fills.get(MemorySpace.HOST.ordinal()).isEmpty()
                            && !fills.get(MemorySpace.PINNED.ordinal()).isEmpty()
                    ? MemorySpace.PINNED
                    : MemorySpace.HOST;
        }

        long resizes() {
            return Math.max(0, fills.get(primary().ordinal()).size() - 1);
        }

        long blockNow() {
            return blockBytes[primary().ordinal()];
        }

        long maxPrimaryBlock() {
            return primary() == MemorySpace.DEVICE ? maxDeviceBlock : maxBlock;
        }

        long needed() {
            return Math.max(needed, cycle);
        }

        private void tick(long time) {
            if (time > lastTime) {
                filledTime += (double) filled * (time - lastTime);
                sinceBlock += time - lastTime;
                lastTime = time;
            }
        }

        /** The block changes its size: what was filled so far counts as a share of the old one. */
        private void foldFill() {
            long block = blockNow();
            if (block > 0) {
                filledIntegral += filledTime / block;
                blockTime += sinceBlock;
            }
            filledTime = 0;
            sinceBlock = 0;
        }

        WorkspaceRow row(long endNanos) {
            tick(endNanos);
            foldFill();
            long end = 0;
            for (long bytes : blockBytes) {
                end += bytes;
            }
            return new WorkspaceRow(
                    info.id(),
                    info.name(),
                    info.threadId(),
                    info.threadName(),
                    info.circular(),
                    primary(),
                    end,
                    maxPrimaryBlock(),
                    maxFilled,
                    needed(),
                    scopes,
                    spills,
                    spilledBytes,
                    resizes(),
                    lastEntered,
                    blockTime == 0 ? 0 : Math.min(1, filledIntegral / blockTime));
        }
    }
}
