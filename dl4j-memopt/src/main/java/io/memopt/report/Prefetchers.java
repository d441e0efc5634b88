// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Prefetching iterators: what they will need, and which nobody reads any more. */
public final class Prefetchers {
    /** Batches in the ring buffer beyond the queue: one being filled, one being read, one for alignment. */
    private static final int EXTRA_BATCHES = 3;

    /** ND4J adds 30 % to a circular workspace, see Nd4jWorkspace.initializeWorkspace. */
    private static final double MARGIN = 1.3;

    private static final double NANOS = 1e9;

    private Prefetchers() {}

    /**
     * Bytes that an AsyncDataSetIterator will hold.
     *
     * @param depth its queue size
     * @param batchBytes features, labels and masks of one batch
     */
    public static long expectedBytes(int depth, long batchBytes) {
        return Math.round((depth + EXTRA_BATCHES) * batchBytes * MARGIN);
    }

    /**
     * Circular workspaces whose thread still lives but has not filled a batch for {@code seconds}. A slow consumer looks
     * the same, so choose more than one training step.
     */
    public static List<WorkspaceAccount> abandoned(MemoryLedger ledger, double seconds) {
        long now = System.nanoTime();
        Set<Long> alive = new HashSet<>();
        Thread.getAllStackTraces().keySet().forEach(thread -> alive.add(thread.getId()));
        return ledger.accounts().stream()
                .filter(WorkspaceAccount::circular)
                .filter(account -> alive.contains(account.threadId()))
                .filter(account -> now - account.lastEnteredNanos() >= seconds * NANOS)
                .toList();
    }
}
