// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.RegionPolicy;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has the workspaces of observed networks share one planned arena for each thread. The first forward and backward pass with new
 * shapes is recorded and planned; the same minibatch is then computed once more under the plan, and only if gradients and score
 * are the same bits do later passes use it. Whatever does not fit a plan is left to ND4J.
 *
 * <p>Threading: safe. Memory: the arenas, and a copy of the gradients during the second computation.
 */
public final class PlannedReuse implements RegionPolicy, ModelObserver, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PlannedReuse.class);

    private final TrainingTracker tracker;
    private final @Nullable Path file;
    private final PlanProfile profile;
    private final List<ThreadPlans> all = new ArrayList<>();
    private final ThreadLocal<ThreadPlans> threads;

    private PlannedReuse(TrainingTracker tracker, boolean usesStay, @Nullable Path file) {
        this.tracker = tracker;
        this.file = file;
        this.profile = file == null ? PlanProfile.empty() : read(file);
        this.threads = ThreadLocal.withInitial(() -> add(usesStay));
    }

    /**
     * Begins for all networks that {@code tracker} observes.
     *
     * @param usesStay true when uses are recorded anyway
     * @param file remembers plans across runs; read now if it exists, written by {@link #close}; null for none
     * @throws io.memopt.allocator.nd4j.HookException if workspaces cannot be served
     */
    public static PlannedReuse begin(TrainingTracker tracker, boolean usesStay, @Nullable Path file) {
        PlannedReuse reuse = new PlannedReuse(tracker, usesStay, file);
        MemoryHooks.reuse(reuse);
        tracker.addModelObserver(reuse);
        return reuse;
    }

    /** ND4J serves everything again. */
    @Override
    public void close() {
        tracker.removeModelObserver(this);
        MemoryHooks.stopReuse();
        save();
    }

    private void save() {
        if (file == null) {
            return;
        }
        try {
            threadPlans()
                    .forEach(plans -> plans.networks()
                            .forEach((model, regions) -> profile.put(NetworkIdentity.of(model), regions)));
            profile.write(file);
        } catch (IOException | RuntimeException e) {
            log.warn("Plans could not be kept in {}: {}", file, e.toString());
        }
    }

    private static PlanProfile read(Path file) {
        if (!Files.exists(file)) {
            return PlanProfile.empty();
        }
        try {
            return PlanProfile.read(file);
        } catch (IOException e) {
            log.warn("{}. Plans are made anew.", e.getMessage());
            return PlanProfile.empty();
        }
    }

    private List<ThreadPlans> threadPlans() {
        synchronized (all) {
            return List.copyOf(all);
        }
    }

    /**
     * Computes gradients of a few examples on the calling thread, which is to train {@code model}, so that plans for all batch
     * sizes follow. Parameters, updater state, random generator and gradients are afterwards what they were.
     *
     * @param sample minibatch of at least three examples, as training will have it
     * @throws IllegalArgumentException if there are fewer, or the network is trained by truncated backpropagation through time
     */
    public void rehearse(Model model, MultiDataSet sample) {
        Rehearsal.of(model, sample, this);
    }

    /** What has been planned so far, on all threads. */
    public List<PlanRow> plans() {
        return threadPlans().stream()
                .flatMap(plans -> plans.networks().regions().stream())
                .map(PlanRow::of)
                .toList();
    }

    @Override
    public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
        OwnerTable owners = tracker.recording().ledger().owners();
        Owner owner = owners.ownerOf(ThreadContext.current().owner(owners));
        String asker = owner.phase() + ":" + owner.layer();
        return threads.get().planFor(tracker.currentModel(), outermost, asker, workspace, roundedBytes);
    }

    @Override
    public void regionClosed(@Nullable PlanCursor cursor) {
        threads.get().regionClosed(cursor);
    }

    @Override
    public void arenaRefused(long bytes) {
        threads.get().arenaRefused(bytes);
    }

    @Override
    public void gradientsComputed(Model model) {
        threads.get().gradientsComputed(model);
    }

    private ThreadPlans add(boolean usesStay) {
        WorkspaceReuse reuse = Objects.requireNonNull(tracker.recording().reuse(), "reuse has ended");
        NetworkPlans networks = new NetworkPlans(model -> file == null
                ? Map.of()
                : profile.plans(NetworkIdentity.of(model), PlanOptions.within(ThreadPlans.PLANNING)));
        ThreadPlans plans = new ThreadPlans(reuse, networks, usesStay);
        synchronized (all) {
            all.add(plans);
        }
        return plans;
    }
}
