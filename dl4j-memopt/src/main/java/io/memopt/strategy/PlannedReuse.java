// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.nd4j.ArenaFigures;
import io.memopt.allocator.nd4j.ArenaOptions;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.RegionPolicy;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;

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
    private final ProfileFile file;
    private final boolean poisons;
    private final PassCounts counts = new PassCounts();
    private final ProvedPlans proved = new ProvedPlans();
    private final ExcludedModels excluded;
    private final List<ThreadPlans> all = new ArrayList<>();
    private final ThreadLocal<ThreadPlans> threads = ThreadLocal.withInitial(this::add);
    private final ThreadLocal<PassRoom> rooms = ThreadLocal.withInitial(PassRoom::new);
    /** What passes need without a plan, and under one. */
    private final SizeBook scopes;

    private final SizeBook heights;
    private final ArenaFigures figures;

    private PlannedReuse(
            TrainingTracker tracker,
            @Nullable Path path,
            ArenaOptions options,
            boolean poisons,
            ExcludedModels excluded) {
        this.tracker = tracker;
        this.excluded = excluded;
        this.poisons = poisons;
        this.file = ProfileFile.open(path);
        this.scopes = new SizeBook(options.trimAfter());
        this.heights = new SizeBook(options.trimAfter());
        file.profile().sizesTo(scopes);
        this.figures = MemoryHooks.reuse(this, options).figures();
    }

    /**
     * Begins for all networks that {@code tracker} observes but those that are {@code excluded} at the time, which are left to ND4J, as
     * copies of them are that other threads train.
     *
     * @param file remembers plans and sizes across runs; read now if it exists, written by {@link #close}; null for none
     * @param poisons whether bytes of dead arrays are made no number, and every plan of training is proved that way before it
     *     serves, also those remembered or derived from others
     * @throws io.memopt.allocator.nd4j.HookException if workspaces cannot be served
     */
    public static PlannedReuse begin(
            TrainingTracker tracker,
            @Nullable Path file,
            ArenaOptions options,
            boolean poisons,
            ExcludedModels excluded) {
        PlannedReuse reuse = new PlannedReuse(tracker, file, options, poisons, excluded);
        tracker.addModelObserver(reuse);
        return reuse;
    }

    /** ND4J serves everything again. */
    @Override
    public void close() {
        tracker.removeModelObserver(this);
        MemoryHooks.stopReuse();
        file.save(profile -> {
            threadPlans()
                    .forEach(plans -> plans.networks()
                            .forEach((model, regions) -> profile.put(NetworkIdentity.of(model), regions)));
            profile.putSizes(scopes);
        });
    }

    /** Whether passes of {@code model} are left to ND4J. */
    public boolean isExcluded(Model model) {
        return excluded.contains(tracker.originalOf(model));
    }

    /** What arenas did so far. */
    public ArenaFigures figures() {
        return figures;
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
        Rehearsal.of(model, sample, this::rehearsed);
    }

    /**
     * Bytes of the arena that training {@code model} with {@code examples} takes on the calling thread, as its plans for other
     * numbers of examples tell; empty when they do not.
     */
    public OptionalLong arenaBytes(Model model, int examples) {
        return threads.get().networks().of(model).arenaBytes(examples, PlanOptions.within(ThreadPlans.PLANNING));
    }

    /** Whether the calling thread has a plan for training with the minibatch that {@code model} holds, or one follows from others. */
    public boolean knowsMinibatch(Model model) {
        return threads.get().networks().of(model).tell(RegionKey.awaited(model));
    }

    /** As {@link #rehearse} with the minibatch that {@code model} holds; {@code give} hands so many of its examples to it. */
    public void rehearseHeld(Model model, IntConsumer give) {
        Rehearsal.held(model, give, this::rehearsed);
    }

    private void rehearsed(Model model) {
        gradientsComputed(model);
        tracker.extraPass(model, ExtraPass.REHEARSED);
    }

    /** Whether the passes that training asks for lately are served from plans on the calling thread. */
    public boolean serves(Model model) {
        return threads.get().serves(model);
    }

    /** What has been planned so far, on all threads. */
    public List<PlanRow> plans() {
        return threadPlans().stream()
                .flatMap(plans -> plans.networks().regions().stream())
                .map(PlanRow::of)
                .toList();
    }

    /** Passes served from an arena so far. */
    public long servedPasses() {
        return counts.served();
    }

    /** Passes so far that asked for other arrays than planned; ND4J served the rest of each. */
    public long missedPasses() {
        return counts.missed();
    }

    /** One sentence on what plans have done and what they take. */
    public String note() {
        List<PlanRow> rows = plans();
        List<PlanRow> refused =
                rows.stream().filter(row -> !row.reason().isEmpty()).toList();
        long arena = rows.stream().mapToLong(PlanRow::arenaBytes).max().orElse(0);
        long scopeBytes = rows.stream().mapToLong(PlanRow::scopeBytes).max().orElse(0);
        return "Planned workspaces: " + Count.of(servedPasses(), "pass") + " served, " + missedPasses() + " missed; "
                + Count.of(rows.size(), "kind") + " of pass, " + refused.size() + " of them left to ND4J"
                + (refused.isEmpty() ? "" : " (" + refused.get(0).reason() + ")")
                + ". The largest arena takes " + ByteSize.format(arena) + ", arrays in open scopes "
                + ByteSize.format(scopeBytes) + ". " + SizedReuse.text(figures);
    }

    @Override
    public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
        ThreadPlans plans = threads.get();
        Model model = tracker.currentModel();
        if (model != null && isExcluded(model)) {
            plans.leave();
            rooms.get().beginUnsized();
            return null;
        }
        String asker = SizedReuse.asker(tracker);
        ArenaPlan plan = plans.planFor(model, outermost, asker, workspace, roundedBytes);
        RegionKey key = plans.currentKey();
        if (plans.isProving()) {
            rooms.get().beginUnknown();
        } else {
            rooms.get()
                    .begin(
                            (plan == null ? scopes : heights).of(model),
                            key == null ? RegionKey.of(model, outermost, asker, workspace, roundedBytes) : key);
        }
        return plan;
    }

    @Override
    public long roomBytes() {
        return rooms.get().bytes();
    }

    @Override
    public void regionSized(long neededBytes) {
        rooms.get().needed(neededBytes);
    }

    @Override
    public boolean belongs() {
        return threads.get().belongs();
    }

    @Override
    public boolean poisons() {
        return poisons;
    }

    @Override
    public void poisonBroken() {
        threads.get().poisonBroken();
    }

    @Override
    public void regionClosed(@Nullable PlanCursor cursor) {
        if (cursor != null && cursor.complete()) {
            rooms.get().needed(cursor.arenaBytes());
        }
        threads.get().regionClosed(cursor);
    }

    @Override
    public void arenaRefused(long bytes) {
        threads.get().arenaRefused(bytes);
    }

    @Override
    public void gradientsComputed(Model model) {
        PlannedRegion trusted = threads.get().gradientsComputed(model);
        ArenaPlan plan = trusted == null ? null : trusted.plan();
        if (trusted != null && plan != null) {
            proved.add(tracker.originalOf(model), trusted.key(), plan);
        }
    }

    /** Proved for {@code model} on another thread, or in another run. */
    private Map<RegionKey, ArenaPlan> known(Model model) {
        Map<RegionKey, ArenaPlan> here = proved.of(tracker.originalOf(model));
        return here.isEmpty() ? remembered(model) : here;
    }

    private ThreadPlans add() {
        NetworkPlans networks = new NetworkPlans(this::known, poisons);
        ThreadPlans plans = new ThreadPlans(networks, counts, model -> tracker.extraPass(model, ExtraPass.VERIFIED));
        synchronized (all) {
            all.add(plans);
            List<ThreadPlans> ended = all.stream().filter(ThreadPlans::ended).toList();
            all.removeAll(ended.subList(0, Math.max(0, ended.size() - MAX_ENDED_THREADS)));
        }
        return plans;
    }

    private Map<RegionKey, ArenaPlan> remembered(Model model) {
        if (file.profile().isEmpty()) { // to name a deep network takes half a second
            return Map.of();
        }
        Map<RegionKey, ArenaPlan> plans =
                file.profile().plans(NetworkIdentity.of(model), PlanOptions.within(ThreadPlans.PLANNING));
        PassSizes its = heights.of(model);
        plans.forEach((key, plan) -> its.needed(key, plan.height()));
        return plans;
    }
}
