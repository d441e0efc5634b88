// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.ArrayBits;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * One minibatch computed twice from the same state: as training just did, and again under a plan. Afterwards the network holds
 * the results of training's own pass, bit for bit, whatever happened.
 *
 * <p>Memory: a copy of the gradients while it is open. Threading: confined to the training thread.
 */
final class TwinPass implements AutoCloseable {
    private final Model model;
    private final PassState before;
    private final PassState after;
    private final INDArray gradients;
    private final double score;

    /**
     * Begins after a pass.
     *
     * @param before the state that it began with
     */
    TwinPass(Model model, PassState before) {
        this.model = model;
        this.before = before;
        this.after = PassState.of(model);
        this.gradients = view().dup();
        this.score = model.score();
    }

    Model model() {
        return model;
    }

    /** Computes the minibatch again; says whether gradients and score are the same bits. */
    boolean repeats() {
        before.restore();
        NetworkAccess.computeSilently(model);
        return ArrayBits.equal(view(), gradients)
                && Double.doubleToRawLongBits(model.score()) == Double.doubleToRawLongBits(score);
    }

    @Override
    public void close() {
        view().assign(gradients);
        NetworkAccess.score(model, score);
        after.restore();
        gradients.close();
    }

    private INDArray view() {
        return Objects.requireNonNull(model.getGradientsViewArray(), "gradients");
    }
}
