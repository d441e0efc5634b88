// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Phase;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.checkpoint.CheckpointedPass;
import io.memopt.strategy.checkpoint.Segments;
import io.memopt.strategy.offload.UpdaterOffload;
import io.memopt.strategy.precision.MixedPass;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes the gradients of one network as {@link StepOptions} say. A minibatch is computed in parts of nearly equal size, one
 * after the other; gradients are summed in that order, since Deeplearning4j's gradients are sums over examples that its updater
 * divides once. The score becomes that of all examples together, with the regularisation counted once.
 *
 * <p>Listeners hear {@code onForwardPass} and {@code onBackwardPass} of the last part only.
 *
 * <p>Memory: one more copy of the gradients where sums are asked for. Threading: the training thread of the network.
 */
final class GradientWork {
    private static final Logger log = LoggerFactory.getLogger(GradientWork.class);

    private final TrainingTracker tracker;
    private final @Nullable MixedPass mixed;
    private final @Nullable UpdaterOffload offload;
    private StepOptions options;
    private @Nullable CheckpointedPass checkpoints;
    private final GradientSum gradients = new GradientSum();
    private final ScoreSum scores;
    private int minibatches;
    private int markedMinibatches;
    private boolean toldWhole;
    private boolean closed;

    GradientWork(StepOptions options, TrainingTracker tracker, Model model) {
        this.options = options;
        this.tracker = tracker;
        this.mixed = options.mixes() ? new MixedPass(model, tracker) : null;
        this.checkpoints = checkpoints(options, model);
        this.offload = options.stateOffload().map(UpdaterOffload::new).orElse(null);
        this.scores = new ScoreSum(model);
    }

    private @Nullable CheckpointedPass checkpoints(StepOptions wanted, Model model) {
        return wanted.checkpoints()
                ? new CheckpointedPass(
                        mixed == null ? model : mixed.half(),
                        model,
                        wanted.activationShare(),
                        wanted.cuts().isEmpty() ? null : new Segments(wanted.cuts()),
                        wanted.outputOffload().orElse(null),
                        tracker)
                : null;
    }

    /** How passes are cut; empty when they are not. */
    String way() {
        return checkpoints == null ? "" : checkpoints.way();
    }

    /** The networks that compute: {@code model}, and its copy in another precision if there is one. */
    List<Model> computing(Model model) {
        return mixed == null ? List.of(model) : List.of(model, mixed.half());
    }

    /** What copies the updater's state to where it lies; null for memory. */
    @Nullable
    UnaryOperator<INDArray> stateCopies() {
        return offload == null ? null : offload::copyOf;
    }

    StepOptions options() {
        return options;
    }

    /** Computes by {@code next} from now on; what was gathered stays. */
    void options(StepOptions next, Model model) {
        boolean other = next.activationShare() != options.activationShare()
                || !next.cuts().equals(options.cuts());
        options = next;
        if (other) {
            closeCheckpoints();
            checkpoints = checkpoints(next, model);
        }
    }

    /** An iteration begins, which may have to be undone. */
    void mark() {
        gradients.mark();
        scores.mark();
        if (mixed != null) {
            mixed.mark();
        }
        markedMinibatches = minibatches;
    }

    /** Forgets what was summed since {@link #mark}. */
    void rollBack() {
        gradients.rollBack();
        scores.rollBack();
        if (mixed != null) {
            mixed.rollBack();
        }
        minibatches = markedMinibatches;
    }

    /** The pass of {@code model} that was rolled back is computed again. */
    void repeats(Model model) {
        tracker.extraPass(model, ExtraPass.REPEATED);
    }

    /** Minibatches gathered that no update has used yet. */
    int pending() {
        return minibatches;
    }

    /** What is done otherwise than by Deeplearning4j. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        if (checkpoints != null) {
            notes.add(checkpoints.note());
        }
        if (mixed != null) {
            notes.add(mixed.note());
        }
        if (offload != null) {
            notes.add(offload.note());
        }
        return notes;
    }

    /** An update is about to be made by {@code step}, whose updater is made if need be. */
    void prepare(ControlledStep step, Model model) {
        if (offload != null) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                if (!step.hasUpdater()) {
                    step.updater(offload.make(model));
                }
                offload.place(step.currentUpdater());
            }
        }
    }

    private void closeCheckpoints() {
        if (checkpoints != null) {
            checkpoints.close();
        }
    }

    /** What lay elsewhere lies in memory again, and a copy that computes gives its memory back. Once. */
    void close() {
        if (closed) {
            return;
        }
        closed = true;
        closeCheckpoints();
        if (offload != null) {
            offload.close();
        }
        if (mixed != null) {
            mixed.close();
        }
    }

    /** Runs {@code update} of {@code model}, which has a manager of {@code workspaces}, where there is room for it. */
    void update(Model model, LayerWorkspaceMgr workspaces, Consumer<LayerWorkspaceMgr> update) {
        try {
            if (checkpoints == null) {
                update.accept(workspaces);
            } else {
                checkpoints.update(model, update);
            }
        } finally {
            if (offload != null) {
                offload.end();
            }
        }
    }

    /** Whether the gradients of an update are to be used; to be asked once for each. */
    boolean accepts(Model model) {
        return mixed == null || mixed.accepts(view(model));
    }

    /** Whether the minibatch that the network holds completes no update. */
    boolean gathersMore(Model model) {
        return minibatches + 1 < options.accumulate();
    }

    /** Adds the gradients of the minibatch that the network holds to those of earlier ones. */
    void gather(Model model) {
        begin();
        parts(model, false);
        minibatches++;
        NetworkAccess.score(model, scores.mean(model));
    }

    /**
     * Computes the gradients of one update from the minibatch that the network holds, and what was gathered before.
     *
     * @return examples that they are the sum of
     */
    int compute(Model model) {
        if (offload != null) {
            offload.begin();
        }
        begin();
        if (!options.sums()) {
            return plain(model);
        }
        parts(model, true);
        return end(model);
    }

    /**
     * Makes the gathered gradients those of the network.
     *
     * @return examples that they are the sum of
     */
    int finish(Model model) {
        view(model).assign(0);
        gradients.addTo(view(model));
        return end(model);
    }

    private void begin() {
        if (checkpoints != null) {
            checkpoints.begin();
        }
    }

    private int plain(Model model) {
        pass(model);
        return batchSize(model);
    }

    private int end(Model model) {
        int examples = scores.examples();
        NetworkAccess.score(model, scores.mean(model));
        scores.clear();
        gradients.clear();
        minibatches = 0;
        return examples;
    }

    /** One forward and backward pass over what the network holds, with the listeners that it has. */
    void pass(Model model) {
        if (mixed == null) {
            passOf(model);
        } else {
            mixed.compute(model, this::passOf);
        }
    }

    private void passOf(Model computing) {
        if (checkpoints == null) {
            NetworkAccess.computePlainly(computing);
        } else {
            checkpoints.compute();
        }
    }

    /** {@code completes}: whether the network's gradients are to be those of all parts in the end. */
    private void parts(Model model, boolean completes) {
        HeldMinibatch held = HeldMinibatch.of(model);
        int rows = held.rows();
        int count = rows <= 0 || options.microBatch() >= rows ? 1 : (rows - 1) / options.microBatch() + 1;
        if (rows <= 0 && options.microBatch() != StepOptions.WHOLE) {
            tellWhole(held);
        }
        try {
            for (int i = 0; i < count; i++) {
                if (count > 1) {
                    held.give((int) ((long) i * rows / count), (int) ((long) (i + 1) * rows / count));
                }
                part(model, completes && i == count - 1);
            }
        } finally {
            if (count > 1) {
                held.restore();
            }
        }
    }

    private void part(Model model, boolean last) {
        if (!scores.isEmpty()) {
            tracker.goesOn(model, Phase.FORWARD, 0);
            // Layers that get no gradient leave what was there, and that must count once.
            view(model).assign(0);
        }
        if (last) {
            pass(model);
        } else {
            NetworkAccess.computeSilently(model);
        }
        tracker.passEnded(model);
        scores.add(model, batchSize(model));
        if (last) {
            gradients.addTo(view(model));
        } else {
            gradients.add(view(model));
        }
    }

    private void tellWhole(HeldMinibatch held) {
        if (!toldWhole) {
            toldWhole = true;
            log.warn(
                    "A minibatch was computed whole although microBatch={}: {}. The same goes for later ones like it.",
                    options.microBatch(),
                    held.whyWhole());
        }
    }

    /** By which Deeplearning4j's updater divides. */
    private static int batchSize(Model model) {
        return model.batchSize();
    }

    private static INDArray view(Model model) {
        return Objects.requireNonNull(model.getGradientsViewArray(), "gradients");
    }
}
