// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.EnumSet;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Most bytes that iterations take in the way that was chosen, as a budget counts them: with one minibatch, however many the program
 * holds, without what was there before the decision and is none of the network's own, and without arrays of others.
 *
 * <pre>
 *   actual = most reserved in an iteration - held by others - inputs + one minibatch
 * </pre>
 *
 * <p>Cost: O(live allocations) for each of the first {@value #ALWAYS} iterations, and for one of {@value #EVERY} later on. Threading:
 * safe; iterations are told on the training thread.
 */
final class ActualPeak implements AutoCloseable {
    private static final int ALWAYS = 16;
    private static final int EVERY = 8;
    /** Arrays outside workspaces up to this size are ND4J's own scalars, which wait for the Java collector; they are left out. */
    static final long SCALAR_BYTES = 256;

    private static final Set<Category> OWN =
            EnumSet.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE);

    private static final Set<Phase> OUTSIDE = EnumSet.of(Phase.INFERENCE, Phase.EVALUATION);

    private final MemoryLedger ledger;
    private final MemorySpace space;
    private final String network;
    private final PeakWindow window;
    private final long sinceNanos;
    private final long minibatchBytes;
    /** Held by others when that was looked at last. */
    private long othersBytes;
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
        this.othersBytes = foreign(Thread.currentThread().getId()).othersBytes;
    }

    /** The calling thread begins an iteration; what was reserved since the last one was for others. */
    synchronized void iterationBegins() {
        if (isLookedAt(iterations + 1)) {
            Foreign now = foreign(Thread.currentThread().getId());
            othersBytes = now.othersBytes;
            inputBytes = now.inputBytes;
        }
        window.take(); // last, for the peak begins with what is held now, and the collector may be freeing what was
        // just counted
    }

    private static boolean isLookedAt(long iteration) {
        return iteration <= ALWAYS || iteration % EVERY == 0;
    }

    /** The calling thread has trained the network by one iteration. */
    synchronized void iterationEnded() {
        iterations++;
        if (isLookedAt(iterations)) {
            Foreign now = foreign(Thread.currentThread().getId());
            // What is garbage of others, and of minibatches, is collected at a moment that nobody knows.
            long others = Math.max(othersBytes, now.othersBytes) + Math.max(inputBytes, now.inputBytes);
            long own = window.take().reservedBytes(space) - others + minibatchBytes;
            othersBytes = now.othersBytes;
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

    /** What is none of the network's own, and inputs. */
    private static final class Foreign {
        private long othersBytes;
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
        if (isOthers(allocation, owner, thread)) {
            sums.othersBytes += allocation.roundedBytes();
        } else if (allocation.kind() == AllocationKind.DETACHED && owner.category() == Category.INPUT) {
            sums.inputBytes += allocation.roundedBytes();
        }
    }

    /** An array of no network is the user's, or garbage of a network that is not attached; one of inference is a result, or garbage. */
    private boolean isOthers(LiveAllocation allocation, Owner owner, long thread) {
        WorkspaceAccount account = allocation.account();
        if (account != null) {
            return account.threadId() != thread;
        }
        boolean earlier = allocation.timeNanos() - sinceNanos < 0 && !OWN.contains(owner.category());
        boolean scalar = allocation.roundedBytes() <= SCALAR_BYTES;
        boolean training = owner.network().equals(network) && !OUTSIDE.contains(owner.phase());
        return earlier || scalar || !(training || owner.category() == Category.HELPER_SCRATCH);
    }

    @Override
    public void close() {
        window.close();
    }
}
