// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.allocator.event.Phase;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.checkpoint.CheckpointedPass;
import io.memopt.strategy.checkpoint.Segments;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
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
    private StepOptions options;
    private @Nullable CheckpointedPass checkpoints;
    private final GradientSum gradients = new GradientSum();
    private final ScoreSum scores;
    private int minibatches;
    private int markedMinibatches;
    private boolean toldWhole;

    GradientWork(StepOptions options, TrainingTracker tracker, Model model) {
        this.options = options;
        this.tracker = tracker;
        this.checkpoints = options.checkpoints() ? checkpoints(options, tracker, model) : null;
        this.scores = new ScoreSum(model);
    }

    private static CheckpointedPass checkpoints(StepOptions options, TrainingTracker tracker, Model model) {
        return options.cuts().isEmpty()
                ? new CheckpointedPass(model, options.activationShare(), tracker)
                : new CheckpointedPass(model, new Segments(options.cuts()), tracker);
    }

    /** How passes are cut; empty when they are not. */
    String way() {
        return checkpoints == null ? "" : checkpoints.way();
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
            checkpoints = next.checkpoints() ? checkpoints(next, tracker, model) : null;
        }
    }

    /** An iteration begins, which may have to be undone. */
    void mark() {
        gradients.mark();
        scores.mark();
        markedMinibatches = minibatches;
    }

    /** Forgets what was summed since {@link #mark}. */
    void rollBack() {
        gradients.rollBack();
        scores.rollBack();
        minibatches = markedMinibatches;
    }

    /** Minibatches gathered that no update has used yet. */
    int pending() {
        return minibatches;
    }

    /** What checkpointing does; empty without. */
    String note() {
        return checkpoints == null ? "" : checkpoints.note();
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
        if (checkpoints == null) {
            NetworkAccess.computePlainly(model);
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
