// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.RegionPolicy;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/**
 * Has the workspaces of observed networks share one planned arena for each thread. The first forward and backward pass with new
 * shapes is recorded and planned; the same minibatch is then computed once more under the plan, and only if gradients and score
 * are the same bits do later passes use it. Whatever does not fit a plan is left to ND4J.
 *
 * <p>Threading: safe. Memory: the arenas, and during the second computation a copy of the gradients and of arrays that
 * layers of users' own classes keep.
 */
public final class PlannedReuse implements RegionPolicy, ModelObserver, AutoCloseable {
    /** Of so many threads that have ended, the plans can still be asked for. */
    static final int MAX_ENDED_THREADS = 16;

    private final TrainingTracker tracker;
    private final List<ThreadPlans> all = new ArrayList<>();
    private final ThreadLocal<ThreadPlans> threads = ThreadLocal.withInitial(this::add);

    private PlannedReuse(TrainingTracker tracker) {
        this.tracker = tracker;
    }

    /**
     * Begins for all networks that {@code tracker} observes.
     *
     * @throws io.memopt.allocator.nd4j.HookException if workspaces cannot be served
     */
    public static PlannedReuse begin(TrainingTracker tracker) {
        PlannedReuse reuse = new PlannedReuse(tracker);
        MemoryHooks.reuse(reuse);
        tracker.addModelObserver(reuse);
        return reuse;
    }

    /** ND4J serves everything again. */
    @Override
    public void close() {
        tracker.removeModelObserver(this);
        MemoryHooks.stopReuse();
    }

    /** What has been planned so far, on all threads. */
    public List<PlanRow> plans() {
        List<ThreadPlans> copy;
        synchronized (all) {
            copy = List.copyOf(all);
        }
        return copy.stream()
                .flatMap(plans -> plans.networks().regions().stream())
                .map(PlanRow::of)
                .toList();
    }

    @Override
    public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
        int owner = ThreadContext.current().owner(tracker.recording().ledger().owners());
        return threads.get().planFor(tracker.currentModel(), outermost, owner, workspace, roundedBytes);
    }

    @Override
    public boolean belongs() {
        return threads.get().belongs();
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

    private ThreadPlans add() {
        ThreadPlans plans = new ThreadPlans();
        synchronized (all) {
            all.add(plans);
            List<ThreadPlans> ended = all.stream().filter(ThreadPlans::ended).toList();
            all.removeAll(ended.subList(0, Math.max(0, ended.size() - MAX_ENDED_THREADS)));
        }
        return plans;
    }
}
