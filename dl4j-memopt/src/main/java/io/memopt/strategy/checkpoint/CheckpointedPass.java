// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.ActivationReaders;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.offload.OutputStore;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes gradients and score of a network with fewer activations. The first pass with inputs of a new shape has
 * segments of equal length and is measured; later ones are cut as {@link SegmentPlanner} says, whatever the batch.
 *
 * <p>Exactness {@code BITWISE}: layers are computed again from the same inputs, parameters and random numbers, and what they learn,
 * as running means, they learn in their backward pass, once. Listeners that read activations get them all: with one of those,
 * passes are computed plainly.
 *
 * <p>Memory: kept outputs in {@code WS_ALL_LAYERS_ACT}, one segment in {@code WS_MEMOPT_SEGMENT}. Time: less than one more forward
 * pass. Threading: the training thread.
 */
public final class CheckpointedPass {
    /** Shapes remembered; others are measured anew. */
    static final int MAX_SHAPES = 64;

    private static final Logger log = LoggerFactory.getLogger(CheckpointedPass.class);

    private final WeakReference<Model> network;
    private final WeakReference<Model> observed;
    private final double share;
    private final @Nullable Segments fixed;
    private final TrainingTracker tracker;
    private final @Nullable OutputStore store;
    private final KeptIn where;
    private final Map<String, Schedule> schedules = new LinkedHashMap<>();
    private int turns;
    private boolean toldReaders;

    /**
     * Of {@code model}, which trains with workspaces and without truncated backpropagation through time.
     *
     * @param observed the network that it computes for, which the tracker knows; itself if it does so for itself
     * @param share most bytes of activations, as share of all, 0 to 1
     * @param fixed how it is cut, if that is known and does not change; null when the share decides
     * @param offload where kept outputs go; null for the workspace of all activations
     */
    public CheckpointedPass(
            Model model,
            Model observed,
            double share,
            @Nullable Segments fixed,
            @Nullable Offload offload,
            TrainingTracker tracker) {
        this.network = new WeakReference<>(model);
        this.observed = new WeakReference<>(observed);
        this.share = share;
        this.fixed = fixed;
        this.tracker = tracker;
        this.store = offload == null ? null : OutputStore.in(offload);
        this.where = KeptIn.of(Optional.ofNullable(offload));
    }

    /** Of {@code model} for itself, cut in a way that is known and does not change. */
    public CheckpointedPass(Model model, Segments cut, TrainingTracker tracker) {
        this(model, model, 0, cut, null, tracker);
    }

    /**
     * A minibatch of training begins: passes are cut as has been learnt since. Until the next call they stay the same, so that a pass
     * can be repeated.
     */
    public void begin() {
        boolean changed = false;
        for (Schedule schedule : schedules.values()) {
            changed |= schedule.turn();
        }
        if (changed) {
            forgetSizes(++turns <= MAX_SHAPES);
            if (store != null) {
                store.clear();
            }
        }
    }

    /**
     * Workspaces never shrink, and an arena late; these have the sizes of other segments.
     *
     * @param arena whether that is given back, too: not where shapes are learnt anew for ever
     */
    private void forgetSizes(boolean arena) {
        if (arena) {
            tracker.recording().releaseArena();
        }
        MemoryWorkspaceManager workspaces = Nd4j.getWorkspaceManager();
        for (String id : new String[] {PassAccess.ALL, NetworkWorkspaces.SEGMENT}) {
            if (workspaces.checkIfWorkspaceExists(id) && !workspaces.checkIfWorkspaceExistsAndActive(id)) {
                workspaces.destroyWorkspace(workspaces.getWorkspaceForCurrentThread(id));
            }
        }
    }

    /** Computes gradients and score of the minibatch that the network holds. */
    public void compute() {
        Model its = Objects.requireNonNull(network.get(), "network");
        if (ActivationReaders.among(its)) {
            tellReaders();
            NetworkAccess.computePlainly(its);
        } else {
            Schedule schedule = scheduleOf(its);
            Chain measured = run(its, schedule.segments, schedule.chain == null).compute();
            if (measured != null) {
                schedule.learn(measured, fixed == null ? SegmentPlanner.plan(measured, where, bytes(measured)) : fixed);
            }
        }
    }

    /** Runs {@code update} of {@code model} with working memory as room for its temporaries, not that of activations. */
    public void update(Model model, Consumer<LayerWorkspaceMgr> update) {
        tracker.updatesInWorkingMemory(model, true);
        try {
            update.accept(new PassAccess(model, List.of()).update());
        } finally {
            tracker.updatesInWorkingMemory(model, false);
        }
    }

    /** Gives back what kept outputs lay in elsewhere. */
    public void close() {
        if (store != null) {
            store.close();
        }
    }

    /** One sentence on what is kept, and one on where. */
    public String note() {
        Schedule latest = schedules.values().stream()
                .filter(schedule -> schedule.chain != null)
                .reduce((one, other) -> other)
                .orElse(null);
        if (latest == null || latest.chain == null) {
            return "Checkpointing: nothing was measured yet.";
        }
        Segments planned = latest.planned;
        return String.format(
                Locale.ROOT,
                "Checkpointing: %s of %s keep %s of %s of activations, %.0f %% of them; %.0f %% of the forward"
                        + " pass is computed again.%s",
                Count.of(planned.count(), "segment"),
                Count.of(latest.chain.length(), "layer"),
                ByteSize.format(planned.bytes(latest.chain, where)),
                ByteSize.format(latest.chain.bytes()),
                100.0 * planned.bytes(latest.chain, where) / Math.max(1, latest.chain.bytes()),
                100.0 * planned.nanos(latest.chain) / Math.max(1, latest.chain.nanos()),
                store == null ? "" : " " + store.note());
    }

    private SegmentRun run(Model its, Segments segments, boolean measures) {
        Model known = Objects.requireNonNull(observed.get(), "observed network");
        PassVisits visits = new PassVisits(tracker, known);
        return SegmentRun.of(its, visits, segments, store, measures);
    }

    private static String shapes(Model its) {
        INDArray[] inputs = its instanceof MultiLayerNetwork layers
                ? new INDArray[] {layers.getInput()}
                : ((ComputationGraph) its).getInputs();
        return Arrays.stream(inputs).map(CheckpointedPass::shape).collect(Collectors.joining(" "));
    }

    /** Without the number of examples. */
    private static String shape(INDArray input) {
        return input.dataType() + Arrays.toString(Arrays.copyOfRange(input.shape(), 1, input.rank()));
    }

    /** Where the pass over what the network holds is cut; empty while a listener has all activations kept. */
    public String way() {
        Model its = network.get();
        return its == null || !holdsInputs(its) || ActivationReaders.among(its)
                ? ""
                : " cut " + scheduleOf(its).segments.ends();
    }

    private static boolean holdsInputs(Model its) {
        if (its instanceof MultiLayerNetwork layers) {
            return layers.getInput() != null;
        }
        INDArray[] inputs = ((ComputationGraph) its).getInputs();
        return inputs != null && Arrays.stream(inputs).noneMatch(Objects::isNull);
    }

    private long bytes(Chain measured) {
        return (long) (share * measured.bytes());
    }

    private Schedule scheduleOf(Model its) {
        String key = shapes(its);
        Schedule known = schedules.get(key);
        if (known == null) {
            if (schedules.size() == MAX_SHAPES) {
                schedules.remove(schedules.keySet().iterator().next());
            }
            known = new Schedule(fixed == null ? SegmentRun.even(its) : fixed);
            schedules.put(key, known);
        }
        return known;
    }

    private void tellReaders() {
        if (!toldReaders) {
            toldReaders = true;
            log.warn(
                    "A listener reads activations, so that all of them are kept while it is there: checkpointing waits.");
        }
    }

    /** Where the chain is cut for one shape of input. */
    private static final class Schedule {
        private Segments segments;
        private Segments planned;
        private @Nullable Chain chain;

        private Schedule(Segments first) {
            this.segments = first;
            this.planned = first;
        }

        /** Whether passes are cut in another way from now on. */
        private boolean turn() {
            boolean changed = !segments.equals(planned);
            segments = planned;
            return changed;
        }

        private void learn(Chain measured, Segments next) {
            chain = measured;
            planned = next;
        }
    }
}
