// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.allocator.reuse.PlannedArray;
import io.memopt.allocator.use.UseBook;
import io.memopt.allocator.use.UseWindow;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plans of one thread, and what becomes of the pass that it is in.
 *
 * <pre>
 *   UNKNOWN --recorded pass--> PLANNED --the same minibatch again, bit for bit--> TRUSTED
 *      ^                          |                                                  |
 *      +----- other arrays -------+---------------- other arrays -------------------+     other bits: REFUSED
 * </pre>
 *
 * Passes of inference have nothing to prove: their arrays keep their bytes to the end of their scopes, as ND4J has it.
 *
 * <p>Threading: confined to its thread.
 */
final class ThreadPlans {
    private static final Logger log = LoggerFactory.getLogger(ThreadPlans.class);
    static final Duration PLANNING = Duration.ofMillis(200);

    private final NetworkPlans networks;
    private final PassCounts counts;
    private final Consumer<Model> verified;
    private final WeakReference<Thread> thread = new WeakReference<>(Thread.currentThread());
    private @Nullable PlannedRegion current;
    private @Nullable PassState before;
    private @Nullable UseBook book;
    private @Nullable UseWindow window;
    /** Arrays of listeners in the window. */
    private final Set<Integer> strangers = new HashSet<>();

    private @Nullable ArenaPlan trial;
    private @Nullable PlanCursor tried;

    /**
     * Begins with what {@code networks} remembers.
     *
     * @param verified hears of each pass that is computed again
     */
    ThreadPlans(NetworkPlans networks, PassCounts counts, Consumer<Model> verified) {
        this.verified = verified;
        this.networks = networks;
        this.counts = counts;
    }

    /** Whether the thread that made this is no more. */
    boolean ended() {
        Thread its = thread.get();
        return its == null || !its.isAlive();
    }

    NetworkPlans networks() {
        return networks;
    }

    /**
     * The first array of a pass of {@code model} is asked for.
     *
     * @param asker phase and layer: a pass that keeps no activations is one for each layer
     */
    @Nullable
    ArenaPlan planFor(@Nullable Model model, String outermost, String asker, String workspace, long roundedBytes) {
        if (trial != null) {
            return trial;
        }
        if (current != null && before != null) {
            current.abandoned();
        }
        current = null;
        before = null;
        if (model == null) {
            return null;
        }
        NetworkPlans.Plans plans = networks.of(model);
        PlannedRegion region = plans.region(RegionKey.of(model, outermost, asker, workspace, roundedBytes));
        boolean training = region.key().isTraining();
        current = region;
        if (region.stage() == PlannedRegion.Stage.UNKNOWN && region.derivable()) {
            derive(plans, region);
        }
        if (region.stage() == PlannedRegion.Stage.UNKNOWN) {
            record(region);
        }
        if (training
                && region.stage() != PlannedRegion.Stage.TRUSTED
                && region.stage() != PlannedRegion.Stage.REFUSED) {
            before = stateOf(model, region);
        }
        return region.stage() == PlannedRegion.Stage.TRUSTED ? region.plan() : null;
    }

    /** A pass begins that nobody serves or learns from. */
    void leave() {
        current = null;
        before = null;
    }

    private static @Nullable PassState stateOf(Model model, PlannedRegion region) {
        try {
            return PassState.of(model);
        } catch (RuntimeException | OutOfMemoryError e) {
            region.refuse("the state of its layers cannot be told: " + e);
            return null;
        }
    }

    private static void derive(NetworkPlans.Plans plans, PlannedRegion region) {
        try {
            ArenaPlan derived = plans.derive(region.key(), PlanOptions.within(PLANNING));
            if (derived != null) {
                region.derived(derived);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            log.debug("No plan follows for {}: {}", region.key(), e.toString());
        }
    }

    private void record(PlannedRegion region) {
        try {
            strangers.clear();
            book = MemoryHooks.borrowUses();
            window = book.openWindow();
        } catch (HookException e) {
            region.refuse(String.valueOf(e.getMessage()));
            log.warn("Workspaces stay as they are. {}", e.getMessage());
        }
    }

    /** Whether the latest pass of {@code model} that was asked for has a plan that serves. */
    boolean serves(Model model) {
        PlannedRegion region = current;
        return region != null
                && region.stage() == PlannedRegion.Stage.TRUSTED
                && networks.of(model).regions().contains(region);
    }

    /** Whether a plan is being proved; then nothing is learnt of what passes need. */
    boolean isProving() {
        return trial != null;
    }

    /** The pass that began last; null when its network is not observed. */
    @Nullable
    RegionKey currentKey() {
        PlannedRegion region = current;
        return region == null ? null : region.key();
    }

    /** False for arrays of listeners; they come in some passes and not in others. */
    boolean belongs() {
        PlannedRegion region = current;
        if (region == null || !region.key().keepActivations() || !ModelCall.byListener()) {
            return true;
        }
        if (window != null) {
            strangers.add(window.next());
        }
        return false;
    }

    void regionClosed(@Nullable PlanCursor cursor) {
        PlannedRegion region = current;
        if (trial != null) {
            tried = cursor;
        } else if (window != null && region != null) {
            plan(window, region);
        } else if (cursor != null && region != null) {
            served(cursor, region);
        }
    }

    private void plan(UseWindow recorded, PlannedRegion region) {
        window = null;
        try {
            boolean training = region.key().isTraining();
            boolean keep = region.key().keepActivations();
            List<PlannedArray> arrays = recorded.close().stream()
                    .filter(array -> NetworkWorkspaces.serves(array.workspace()))
                    .filter(array -> !strangers.contains(array.sequence()))
                    .map(array -> PlannedArray.of(
                            array, !training || (keep && array.workspace().equals(RegionKey.PASS))))
                    .toList();
            if (region.stage() == PlannedRegion.Stage.REFUSED) {
                return;
            }
            region.planned(ArenaPlan.of(arrays, PlanOptions.within(PLANNING)));
            if (!training) {
                // All arrays live to the end of their scopes, as ND4J has them live: there is nothing to prove.
                region.trust();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            region.refuse("it cannot be planned: " + e);
        } finally {
            returnBook();
        }
    }

    private void returnBook() {
        UseBook borrowed = book;
        book = null;
        if (borrowed != null) {
            MemoryHooks.returnUses(borrowed);
        }
    }

    /** A pass that merely ended early, by an exception, was served all the same. */
    private void served(PlanCursor cursor, PlannedRegion region) {
        if (cursor.missed()) {
            counts.countMissed();
            region.differs();
        } else if (cursor.complete()) {
            counts.countServed();
            region.countServed();
            WorkspaceReuse.releaseBlocks();
        }
    }

    void poisonBroken() {
        log.warn(
                "An array of {} was written after its planned end, and before another took its bytes. ND4J serves the rest"
                        + " of the pass; the plan is made anew.",
                current == null ? "a pass" : current.key());
    }

    void arenaRefused(long bytes) {
        PlannedRegion region = current;
        if (region != null) {
            region.refuse("no memory for an arena of " + bytes + " B");
        }
    }

    /** Training's own pass of {@code model} is over: the time to try a plan. Returns what is trusted from now on. */
    @Nullable
    PlannedRegion gradientsComputed(Model model) {
        PlannedRegion region = current;
        PassState start = before;
        ArenaPlan plan = region == null ? null : region.plan();
        if (start != null
                && start.isOf(model)
                && plan != null
                && region != null
                && region.stage() == PlannedRegion.Stage.PLANNED) {
            before = null;
            WorkspaceReuse.releaseBlocks();
            try (TwinPass twin = new TwinPass(model, start)) {
                judge(region, plan, twin);
            } catch (RuntimeException | OutOfMemoryError | LinkageError e) {
                region.refuse("its second computation failed: " + e);
            }
            tellIfRefused(region);
            return region.stage() == PlannedRegion.Stage.TRUSTED ? region : null;
        }
        return null;
    }

    private void judge(PlannedRegion region, ArenaPlan plan, TwinPass twin) {
        boolean equal = under(plan, twin);
        PlanCursor cursor = tried;
        if (region.stage() == PlannedRegion.Stage.REFUSED) {
            log.debug("No arena for a trial of {} B", plan.height());
        } else if (cursor == null || !cursor.complete()) {
            region.differs();
        } else if (equal) {
            region.trust();
        } else {
            region.refuse(
                    repeats(twin)
                            ? "results under the plan differ from those without: please report this"
                            : "this network's results differ when a minibatch is computed again, so no plan can be proved");
        }
    }

    private static void tellIfRefused(PlannedRegion region) {
        if (region.stage() == PlannedRegion.Stage.REFUSED) {
            log.warn(
                    "Workspaces of passes with shapes {} stay as they are: {}.",
                    region.key().shapes(),
                    region.reason());
        }
    }

    private boolean under(ArenaPlan plan, TwinPass twin) {
        trial = plan;
        tried = null;
        try {
            return repeats(twin);
        } finally {
            trial = null;
        }
    }

    private boolean repeats(TwinPass twin) {
        try {
            return twin.repeats();
        } finally {
            verified.accept(twin.model());
        }
    }
}
