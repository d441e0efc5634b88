// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.EnumSet;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Most bytes that iterations take in the way that was chosen, as a budget counts them: with one minibatch, however many the program
 * holds, and without what was there before the decision and is none of the network's own.
 *
 * <pre>
 *   actual = most reserved in an iteration - held from before by others - inputs + one minibatch
 * </pre>
 *
 * <p>Cost: O(live allocations) for each of the first {@value #ALWAYS} iterations, and for one of {@value #EVERY} later on. Threading:
 * safe; iterations are told on the training thread.
 */
final class ActualPeak implements AutoCloseable {
    private static final int ALWAYS = 16;
    private static final int EVERY = 8;
    /** Detached arrays up to this size are ND4J's own scalars, which wait for the Java collector; they are left out. */
    private static final long SCALAR_BYTES = 256;

    private static final Set<Category> OWN =
            EnumSet.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE);

    private final MemoryLedger ledger;
    private final MemorySpace space;
    private final String network;
    private final PeakWindow window;
    private final long sinceNanos;
    private final long minibatchBytes;
    /** Held by others from before the decision when that was looked at last. */
    private long earlierBytes;
    /** Of minibatches, likewise. */
    private long inputBytes;

    private long iterations;
    private long peak;

    /**
     * Begins after a decision, on the training thread.
     *
     * @param window open; closed with this
     * @param sinceNanos when the decision began, as {@link System#nanoTime()}
     * @param minibatchBytes of the minibatch that was decided for
     */
    ActualPeak(
            MemoryLedger ledger,
            MemorySpace space,
            String network,
            PeakWindow window,
            long sinceNanos,
            long minibatchBytes) {
        this.ledger = ledger;
        this.space = space;
        this.network = network;
        this.window = window;
        this.sinceNanos = sinceNanos;
        this.minibatchBytes = minibatchBytes;
        this.earlierBytes = foreign(Thread.currentThread().getId()).earlierBytes;
    }

    /** The calling thread has trained the network by one iteration. */
    synchronized void iterationEnded() {
        iterations++;
        if (iterations <= ALWAYS || iterations % EVERY == 0) {
            Foreign now = foreign(Thread.currentThread().getId());
            // What was there before, and minibatches that are garbage, are collected at a moment that nobody knows.
            long others = Math.max(earlierBytes, now.earlierBytes) + Math.max(inputBytes, now.inputBytes);
            long own = window.take().reservedBytes(space) - others + minibatchBytes;
            earlierBytes = now.earlierBytes;
            inputBytes = now.inputBytes;
            peak = Math.max(peak, own);
        }
    }

    /** What was reserved since the last iteration was for a pass outside training. */
    synchronized void passEnded() {
        window.take();
    }

    /** Empty before the first iteration. */
    synchronized OptionalLong bytes() {
        return iterations == 0 ? OptionalLong.empty() : OptionalLong.of(peak);
    }

    /** What is none of the network's own: from before the decision, and inputs of later. */
    private static final class Foreign {
        private long earlierBytes;
        private long inputBytes;
    }

    private Foreign foreign(long thread) {
        Foreign sums = new Foreign();
        ledger.forEachLive((key, allocation) -> {
            if (allocation.space() == space) {
                add(sums, allocation, thread);
            }
        });
        return sums;
    }

    private void add(Foreign sums, LiveAllocation allocation, long thread) {
        Owner owner = ledger.owners().ownerOf(allocation.owner());
        WorkspaceAccount account = allocation.account();
        boolean own = (OWN.contains(owner.category()) && owner.network().equals(network))
                || (account != null && account.threadId() == thread);
        boolean theirs = OWN.contains(owner.category()) && !owner.network().equals(network);
        boolean earlier = isScalar(allocation) || theirs || allocation.timeNanos() - sinceNanos < 0;
        if (earlier && !own) {
            sums.earlierBytes += allocation.roundedBytes();
        } else if (allocation.kind() == AllocationKind.DETACHED && owner.category() == Category.INPUT) {
            sums.inputBytes += allocation.roundedBytes();
        }
    }

    /** Whether it is one of those that are left out. */
    static boolean isScalar(LiveAllocation allocation) {
        return allocation.kind() == AllocationKind.DETACHED && allocation.roundedBytes() <= SCALAR_BYTES;
    }

    @Override
    public void close() {
        window.close();
    }
}
