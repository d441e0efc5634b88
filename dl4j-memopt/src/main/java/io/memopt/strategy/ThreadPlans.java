// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.allocator.reuse.PlannedArray;
import io.memopt.allocator.use.UseWindow;
import java.time.Duration;
import java.util.List;
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
    private static final String PASS = "WS_ALL_LAYERS_ACT";
    static final Duration PLANNING = Duration.ofMillis(200);

    private final NetworkPlans networks;
    private final WorkspaceReuse reuse;
    private final boolean usesStay;
    private @Nullable PlannedRegion current;
    private @Nullable PassState before;
    private @Nullable UseWindow window;
    private @Nullable ArenaPlan trial;
    private @Nullable PlanCursor tried;

    /**
     * Begins with what {@code networks} remembers.
     *
     * @param usesStay true when someone else wants uses recorded all the time
     */
    ThreadPlans(WorkspaceReuse reuse, NetworkPlans networks, boolean usesStay) {
        this.reuse = reuse;
        this.networks = networks;
        this.usesStay = usesStay;
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
        current = null;
        before = null;
        if (model == null) {
            return null;
        }
        boolean training = outermost.equals(PASS);
        String pass = training ? outermost : outermost + "@" + asker;
        NetworkPlans.Plans plans = networks.of(model);
        PlannedRegion region = plans.region(
                training
                        ? RegionKey.training(model, pass, workspace, roundedBytes)
                        : RegionKey.inference(model, pass, workspace, roundedBytes));
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
            before = PassState.of(model);
        }
        return region.stage() == PlannedRegion.Stage.TRUSTED ? region.plan() : null;
    }

    private static void derive(NetworkPlans.Plans plans, PlannedRegion region) {
        ArenaPlan derived = plans.derive(region.key(), PlanOptions.within(PLANNING));
        if (derived != null) {
            region.derived(derived);
        }
    }

    private void record(PlannedRegion region) {
        try {
            window = MemoryHooks.recordUses().openWindow();
        } catch (HookException e) {
            region.refuse(String.valueOf(e.getMessage()));
            log.warn("Workspaces stay as they are. {}", e.getMessage());
        }
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
            boolean training = region.key().pass().equals(PASS);
            boolean keep = region.key().keepActivations();
            List<PlannedArray> arrays = recorded.close().stream()
                    .filter(array -> WorkspaceReuse.serves(array.workspace()))
                    .map(array -> PlannedArray.of(
                            array, !training || (keep && array.workspace().equals(PASS))))
                    .toList();
            region.planned(ArenaPlan.of(arrays, PlanOptions.within(PLANNING)));
            if (!training) {
                // All arrays live to the end of their scopes, as ND4J has them live: there is nothing to prove.
                region.trust();
            }
        } catch (IllegalStateException e) {
            region.refuse(String.valueOf(e.getMessage()));
        } finally {
            if (!usesStay) {
                MemoryHooks.stopRecordingUses();
            }
        }
    }

    private void served(PlanCursor cursor, PlannedRegion region) {
        if (cursor.complete()) {
            region.countServed();
            reuse.releaseBlocks();
        } else {
            region.differs();
        }
    }

    void arenaRefused(long bytes) {
        PlannedRegion region = current;
        if (region != null) {
            region.refuse("no memory for an arena of " + bytes + " B");
        }
    }

    /** Training's own pass of {@code model} is over: the time to try a plan. */
    void gradientsComputed(Model model) {
        PlannedRegion region = current;
        PassState start = before;
        ArenaPlan plan = region == null ? null : region.plan();
        if (start != null && plan != null && region != null && region.stage() == PlannedRegion.Stage.PLANNED) {
            before = null;
            reuse.releaseBlocks();
            try (TwinPass twin = new TwinPass(model, start)) {
                judge(region, plan, twin);
            }
        }
    }

    private void judge(PlannedRegion region, ArenaPlan plan, TwinPass twin) {
        boolean equal = under(plan, twin);
        PlanCursor cursor = tried;
        if (cursor == null || !cursor.complete()) {
            region.differs();
        } else if (equal) {
            region.trust();
        } else {
            region.refuse(
                    twin.repeats()
                            ? "results under the plan differ from those without: please report this"
                            : "this network's results differ when a minibatch is computed again, so no plan can be proved");
        }
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
            return twin.repeats();
        } finally {
            trial = null;
        }
    }
}
