// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Threads by name: those with the largest workspace blocks, and the rest as one, whose idle time is the longest among
 * them. A thread that ended is listed until its workspaces are collected: that is the leak to see.
 */
final class ThreadRows {
    private static final int MAX_THREADS = 16;

    private ThreadRows() {}

    private record Held(String thread, long bytes, long lastEnteredNanos) {
        Held plus(Held other) {
            // Nano times are compared by their difference.
            boolean later = other.lastEnteredNanos - lastEnteredNanos > 0;
            return new Held(thread, bytes + other.bytes, later ? other.lastEnteredNanos : lastEnteredNanos);
        }
    }

    static void collect(Rows rows, Collection<WorkspaceAccount> accounts, long now) {
        Map<String, Held> byThread = new HashMap<>();
        for (WorkspaceAccount account : accounts) {
            long bytes = 0;
            for (MemorySpace space : MemorySpace.values()) {
                bytes += account.reservedBytes(space);
            }
            Held held = new Held(account.threadName(), bytes, account.lastEnteredNanos());
            byThread.merge(account.threadName(), held, Held::plus);
        }
        List<Held> largestFirst = new ArrayList<>(byThread.values());
        largestFirst.sort(Comparator.comparingLong(Held::bytes).reversed().thenComparing(Held::thread));
        for (int i = 0; i < largestFirst.size(); i++) {
            Held held = largestFirst.get(i);
            String name = i < MAX_THREADS ? held.thread() : BoundedNames.OTHER;
            rows.add(Metric.THREAD_WORKSPACE, held.bytes(), "thread", name);
            rows.max(Metric.THREAD_IDLE, Math.max(0, now - held.lastEnteredNanos()) * 1e-9, "thread", name);
        }
    }
}
