// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Most bytes that iterations take in the way that was chosen, as a budget counts them: with one minibatch, however many the program
 * holds, without what was there before the decision and is none of the network's own, and without arrays of others.
 *
 * <pre>
 *   actual = most reserved in an iteration - (held by others + inputs) + one minibatch
 * </pre>
 *
 * What others hold is looked at when an iteration begins and when it ends; of what they free or make in between, the more is left out.
 *
 * <p>Cost: O(live allocations) for each of the first {@value #ALWAYS} iterations, and for one of {@value #EVERY} later on. Threading:
 * safe; iterations are told on the training thread.
 */
final class ActualPeak implements AutoCloseable {
    private static final int ALWAYS = 16;
    private static final int EVERY = 8;
    /** Threads that train the network in turn, beyond which no more are remembered. */
    private static final int MOST_THREADS = 64;
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
    private final long decidedNanos = System.nanoTime();
    /** Of arrays that the decision has left. */
    private final Set<Long> ownAddresses;
    /** That have trained the network. */
    private final Set<Long> threads = new HashSet<>();
    /** Held by others, or inputs, when that was looked at last. */
    private long leftOutBytes;

    private long iterations;
    private long peak;

    /**
     * Begins after a decision, on the training thread.
     *
     * @param window open; closed with this
     * @param sinceNanos when the decision began, as {@link System#nanoTime()}
     * @param minibatchBytes of the minibatch that was decided for
     * @param ownAddresses of arrays that the decision has left, whose owner nobody knows
     */
    ActualPeak(
            MemoryLedger ledger,
            MemorySpace space,
            String network,
            PeakWindow window,
            long sinceNanos,
            long minibatchBytes,
            Set<Long> ownAddresses) {
        this.ledger = ledger;
        this.space = space;
        this.network = network;
        this.window = window;
        this.sinceNanos = sinceNanos;
        this.minibatchBytes = minibatchBytes;
        this.ownAddresses = Set.copyOf(ownAddresses);
        this.threads.add(Thread.currentThread().getId());
        this.leftOutBytes = leftOut();
    }

    /** The calling thread begins an iteration; what was reserved since the last one was for others. */
    synchronized void iterationBegins() {
        if (isLookedAt(iterations + 1)) {
            leftOutBytes = leftOut();
        }
        // Last, for the peak begins with what is held now, and the collector may be freeing what was just counted.
        window.take();
    }

    private static boolean isLookedAt(long iteration) {
        return iteration <= ALWAYS || iteration % EVERY == 0;
    }

    /** The calling thread has trained the network by one iteration. */
    synchronized void iterationEnded() {
        iterations++;
        if (threads.size() < MOST_THREADS) {
            threads.add(Thread.currentThread().getId());
        }
        if (isLookedAt(iterations)) {
            long now = leftOut();
            // What is garbage of others, and of minibatches, is collected at a moment that nobody knows.
            long own = window.take().reservedBytes(space) - Math.max(leftOutBytes, now) + minibatchBytes;
            leftOutBytes = now;
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

    private long leftOut() {
        AtomicLong sum = new AtomicLong();
        ledger.forEachLive((key, allocation) -> {
            if (allocation.space() == space && isLeftOut(allocation)) {
                sum.addAndGet(allocation.roundedBytes());
            }
        });
        return sum.get();
    }

    /** An array of no network is the user's, or garbage of a network that is not attached; one of inference is a result, or garbage. */
    private boolean isLeftOut(LiveAllocation allocation) {
        WorkspaceAccount account = allocation.account();
        if (account != null) {
            return !threads.contains(account.threadId());
        }
        Owner owner = ledger.owners().ownerOf(allocation.owner());
        boolean earlier = allocation.timeNanos() - sinceNanos < 0 && !OWN.contains(owner.category());
        boolean scalar = allocation.roundedBytes() <= SCALAR_BYTES;
        return earlier || scalar || owner.category() == Category.INPUT || !isOwn(allocation, owner);
    }

    private boolean isOwn(LiveAllocation allocation, Owner owner) {
        boolean training = owner.network().equals(network) && !OUTSIDE.contains(owner.phase());
        boolean ofDecision = allocation.timeNanos() - decidedNanos < 0 && ownAddresses.contains(allocation.address());
        return training || ofDecision || owner.category() == Category.HELPER_SCRATCH;
    }

    @Override
    public void close() {
        window.close();
    }
}
