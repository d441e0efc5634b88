// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Follows the workspace arrays of each thread from birth to last use. Births are numbered by thread, as the recorder numbers
 * them. Threading: confined.
 */
final class LivenessBook {
    private static final long NONE = -1;

    private final LiveSet live;
    private final WorkspaceBook workspaces;
    private final ThreadBook threads;
    private final Map<Long, Domain> domains = new HashMap<>();
    /** By slot: number of the birth, and of the newest array at the last use. */
    private long[] births = new long[64];

    private long[] lastUses = new long[64];
    private boolean[] unseen = new boolean[64];
    /** By slot: whose array it is, null for none. */
    private @Nullable Domain[] owners = new @Nullable Domain[64];

    LivenessBook(LiveSet live, WorkspaceBook workspaces, ThreadBook threads) {
        this.live = live;
        this.workspaces = workspaces;
        this.threads = threads;
    }

    void began(int slot) {
        reserve(slot);
        owners[slot] = null;
        AllocationKind kind = live.kind(slot);
        WorkspaceBook.Entry entry = workspaces.find(live.workspace(slot)).orElse(null);
        if (entry == null || entry.info.circular()) {
            return;
        }
        Domain domain = domains.computeIfAbsent(
                kind == AllocationKind.WORKSPACE_BLOCK ? entry.info.threadId() : live.thread(slot), Domain::new);
        long bytes = live.roundedBytes(slot);
        if (kind == AllocationKind.WORKSPACE_BLOCK) {
            if (live.space(slot) == entry.primary()) {
                owners[slot] = domain;
                domain.block(entry, bytes);
            }
        } else if (kind == AllocationKind.WORKSPACE_ARRAY || kind == AllocationKind.SPILL) {
            owners[slot] = domain;
            lastUses[slot] = NONE;
            births[slot] = domain.born(entry, bytes, kind == AllocationKind.SPILL);
        }
    }

    /** The last use of an array is known; {@code span} as in the event. */
    void lastUsed(int slot, long span) {
        Domain domain = owners[slot];
        if (domain != null && live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
            lastUses[slot] = Math.min(domain.births - 1, births[slot] + Math.max(0, span - 1));
            unseen[slot] = span == 0;
        }
    }

    void ended(int slot) {
        Domain domain = owners[slot];
        if (domain == null) {
            return;
        }
        owners[slot] = null;
        WorkspaceBook.Entry entry = workspaces.find(live.workspace(slot)).orElse(null);
        long bytes = live.roundedBytes(slot);
        if (live.kind(slot) == AllocationKind.WORKSPACE_BLOCK) {
            domain.blocks -= bytes;
        } else if (entry != null) {
            boolean known = lastUses[slot] != NONE;
            if (known && unseen[slot]) {
                domain.unseenArrays++;
                domain.unseenBytes += bytes;
            }
            domain.unknownArrays += known ? 0 : 1;
            long last = known ? lastUses[slot] : domain.births - 1;
            domain.ended(entry, births[slot], last, bytes, live.kind(slot) == AllocationKind.SPILL);
        }
    }

    /** Ends what is still there; one row for each thread that placed an array, largest blocks first. */
    List<LivenessRow> rows() {
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (live.isLive(slot)) {
                ended(slot);
            }
        }
        return domains.values().stream()
                .filter(domain -> domain.births > 0)
                .map(domain -> domain.row(threads.name(domain.thread)))
                .sorted(Comparator.comparingLong(LivenessRow::blockBytes).reversed())
                .toList();
    }

    private void reserve(int slot) {
        if (slot >= births.length) {
            int size = Math.max(slot + 1, births.length * 2);
            births = Arrays.copyOf(births, size);
            lastUses = Arrays.copyOf(lastUses, size);
            unseen = Arrays.copyOf(unseen, size);
            owners = Arrays.copyOf(owners, size);
        }
    }

    /** The workspaces of one thread. */
    private static final class Domain {
        private final long thread;
        private final LiveBound bound = new LiveBound();
        private final Map<Integer, Part> parts = new HashMap<>();
        private long births;
        private long blocks;
        private long maxBlocks;
        private long spills;
        private long maxReserved;
        private long arrayBytes;
        private long maxArrays;
        private long unseenArrays;
        private long unseenBytes;
        private long unknownArrays;

        Domain(long thread) {
            this.thread = thread;
        }

        void block(WorkspaceBook.Entry entry, long bytes) {
            blocks += bytes;
            maxBlocks = Math.max(maxBlocks, blocks);
            maxReserved = Math.max(maxReserved, blocks + spills);
            part(entry);
        }

        long born(WorkspaceBook.Entry entry, long bytes, boolean spilled) {
            spills += spilled ? bytes : 0;
            maxReserved = Math.max(maxReserved, blocks + spills);
            arrayBytes += bytes;
            maxArrays = Math.max(maxArrays, arrayBytes);
            bound.born(births, bytes);
            part(entry).born(births, bytes);
            return births++;
        }

        void ended(WorkspaceBook.Entry entry, long birth, long last, long bytes, boolean spilled) {
            spills -= spilled ? bytes : 0;
            arrayBytes -= bytes;
            bound.ended(birth, last, bytes);
            part(entry).ended(birth, last, bytes);
        }

        private Part part(WorkspaceBook.Entry entry) {
            return parts.computeIfAbsent(entry.info.id(), id -> new Part(entry));
        }

        LivenessRow row(String threadName) {
            List<LivenessRow.Share> shares = new ArrayList<>();
            parts.values().forEach(part -> shares.add(part.share()));
            shares.sort(Comparator.comparingLong(LivenessRow.Share::blockBytes).reversed());
            return new LivenessRow(
                    thread,
                    threadName,
                    maxBlocks,
                    maxReserved,
                    maxArrays,
                    bound.bound(),
                    births,
                    unseenArrays,
                    unseenBytes,
                    unknownArrays,
                    bound.isExact(),
                    shares);
        }
    }

    /** One workspace of the thread. */
    private static final class Part {
        private final WorkspaceBook.Entry entry;
        private final LiveBound bound = new LiveBound();
        private long arrayBytes;
        private long maxArrays;

        Part(WorkspaceBook.Entry entry) {
            this.entry = entry;
        }

        void born(long index, long bytes) {
            arrayBytes += bytes;
            maxArrays = Math.max(maxArrays, arrayBytes);
            bound.born(index, bytes);
        }

        void ended(long birth, long last, long bytes) {
            arrayBytes -= bytes;
            bound.ended(birth, last, bytes);
        }

        LivenessRow.Share share() {
            return new LivenessRow.Share(
                    entry.info.id(), entry.info.name(), entry.maxPrimaryBlock(), maxArrays, bound.bound());
        }
    }
}
