// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.ActivationReaders;
import io.memopt.strategy.NetworkAccess;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes gradients and score of a MultiLayerNetwork with fewer activations. The first pass with inputs of a new shape has
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

    private final WeakReference<MultiLayerNetwork> network;
    private final double share;
    private final @Nullable Segments fixed;
    private final TrainingTracker tracker;
    private final Map<String, Schedule> schedules = new LinkedHashMap<>();
    private boolean toldReaders;

    /**
     * Of {@code model}, a MultiLayerNetwork that trains with workspaces and without truncated backpropagation through time.
     *
     * @param share most bytes of activations, as share of all, 0 to 1
     */
    public CheckpointedPass(Model model, double share, TrainingTracker tracker) {
        this(model, share, null, tracker);
    }

    /** As the other one, cut in a way that is known and does not change. */
    public CheckpointedPass(Model model, Segments cut, TrainingTracker tracker) {
        this(model, 0, cut, tracker);
    }

    private CheckpointedPass(Model model, double share, @Nullable Segments fixed, TrainingTracker tracker) {
        this.network = new WeakReference<>((MultiLayerNetwork) model);
        this.share = share;
        this.fixed = fixed;
        this.tracker = tracker;
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
            forgetSizes();
        }
    }

    /** Workspaces never shrink; these have the sizes of other segments. */
    private static void forgetSizes() {
        MemoryWorkspaceManager workspaces = Nd4j.getWorkspaceManager();
        for (String id : new String[] {ChainAccess.ALL, NetworkWorkspaces.SEGMENT}) {
            if (workspaces.checkIfWorkspaceExists(id) && !workspaces.checkIfWorkspaceExistsAndActive(id)) {
                workspaces.destroyWorkspace(workspaces.getWorkspaceForCurrentThread(id));
            }
        }
    }

    /** Computes gradients and score of the minibatch that the network holds. */
    public void compute() {
        MultiLayerNetwork its = Objects.requireNonNull(network.get(), "network");
        if (ActivationReaders.among(its)) {
            tellReaders();
            NetworkAccess.computePlainly(its);
        } else {
            Schedule schedule = scheduleOf(its);
            Chain measured = new ChainRun(its, tracker, schedule.segments, schedule.chain == null).compute();
            if (measured != null) {
                schedule.learn(measured, fixed == null ? SegmentPlanner.plan(measured, bytes(measured)) : fixed);
            }
        }
    }

    /** One sentence on what is kept. */
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
                "Checkpointing: %d segments of %d layers keep %s of %s of activations, %.0f %% of them; %.0f %% of the forward"
                        + " pass is computed again.",
                planned.count(),
                latest.chain.length(),
                ByteSize.format(planned.bytes(latest.chain)),
                ByteSize.format(latest.chain.bytes()),
                100.0 * planned.bytes(latest.chain) / Math.max(1, latest.chain.bytes()),
                100.0 * planned.nanos(latest.chain) / Math.max(1, latest.chain.nanos()));
    }

    /** Where the pass over what the network holds is cut; empty while a listener has all activations kept. */
    public String way() {
        MultiLayerNetwork its = network.get();
        return its == null || its.getInput() == null || ActivationReaders.among(its)
                ? ""
                : " cut " + scheduleOf(its).segments.ends();
    }

    private long bytes(Chain measured) {
        return (long) (share * measured.bytes());
    }

    private Schedule scheduleOf(MultiLayerNetwork its) {
        long[] shape = its.getInput().shape();
        String key = its.getInput().dataType() + Arrays.toString(Arrays.copyOfRange(shape, 1, shape.length));
        Schedule known = schedules.get(key);
        if (known == null) {
            if (schedules.size() == MAX_SHAPES) {
                schedules.remove(schedules.keySet().iterator().next());
            }
            known = new Schedule(fixed == null ? ChainRun.even(its) : fixed);
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
