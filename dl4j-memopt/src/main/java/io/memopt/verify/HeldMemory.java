// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.nd4j.PendingFrees;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** What is held at one moment by allocations made since another, after a full garbage collection; all spaces together. */
final class HeldMemory {
    private static final long PAUSE_MILLIS = 5;
    private static final int MOST_WAITS = 1000;
    /** Looks in a row that find the same allocations, where ND4J does not tell what it has still to free. */
    private static final int QUIET_LOOKS = 30;

    private final Map<String, Long> bytesByHolder = new HashMap<>();
    private long bytes;

    /**
     * Collects garbage and looks.
     *
     * @param sinceNanos older allocations do not count
     */
    static HeldMemory after(MemoryLedger ledger, long sinceNanos) {
        collect(ledger);
        HeldMemory held = new HeldMemory();
        for (LiveAllocation allocation : ledger.liveAllocations()) {
            if (allocation.timeNanos() - sinceNanos >= 0) {
                held.bytes += allocation.roundedBytes();
                held.bytesByHolder.merge(holder(ledger, allocation), allocation.roundedBytes(), Long::sum);
            }
        }
        return held;
    }

    long bytes() {
        return bytes;
    }

    /** Who holds more than in {@code before}, largest growth first. */
    List<Growth> growthSince(HeldMemory before) {
        List<Growth> growth = new ArrayList<>();
        bytesByHolder.forEach((holder, now) -> {
            long more = now - before.bytesByHolder.getOrDefault(holder, 0L);
            if (more > 0) {
                growth.add(new Growth(holder, more));
            }
        });
        growth.sort(Comparator.comparingLong(Growth::bytes).reversed().thenComparing(Growth::holder));
        return growth;
    }

    /** Bytes that one holder has more than before. */
    record Growth(String holder, long bytes) {}

    /** Twice, for arrays that keep arrays; ND4J frees what was found dead on threads of its own, which takes a moment. */
    private static void collect(MemoryLedger ledger) {
        for (int round = 0; round < 2; round++) {
            long collections = collections();
            System.gc();
            for (int waits = 0; waits < MOST_WAITS && collections() == collections; waits++) {
                pause();
            }
            if (collections() == collections) {
                throw new IllegalStateException("System.gc() was called and nothing was collected within "
                        + MOST_WAITS * PAUSE_MILLIS + " ms, so nobody can say what is held: run memory tests without"
                        + " -XX:+DisableExplicitGC.");
            }
            awaitFrees(ledger);
        }
    }

    private static void awaitFrees(MemoryLedger ledger) {
        int quiet = 0;
        int before = -1;
        for (int waits = 0; waits < MOST_WAITS && quiet < QUIET_LOOKS; waits++) {
            OptionalInt pending = PendingFrees.count();
            if (pending.isPresent() && pending.getAsInt() == 0) {
                return;
            }
            int now = ledger.liveAllocations().size();
            quiet = pending.isEmpty() && now == before ? quiet + 1 : 0;
            before = now;
            pause();
        }
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                .sum();
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String holder(MemoryLedger ledger, LiveAllocation allocation) {
        Owner owner = ledger.owners().ownerOf(allocation.owner());
        String site = allocation.site();
        if (allocation.kind() == AllocationKind.DETACHED) {
            return "detached arrays, " + Texts.owner(owner) + (site == null ? "" : ", made by " + site);
        }
        return (allocation.kind() == AllocationKind.WORKSPACE_BLOCK ? "block of workspace " : "spills of workspace ")
                + owner.workspace();
    }
}
