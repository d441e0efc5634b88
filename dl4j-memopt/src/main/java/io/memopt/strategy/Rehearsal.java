// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.nd4j.MemoryHooks;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * Computes gradients of a few examples before training begins, so that a plan for any batch size follows and the first full
 * minibatch never takes what ND4J would have it take. Leaves the network as it was, bit for bit.
 *
 * <p>Threading: the thread that will train.
 */
final class Rehearsal {
    /** Two sizes give the affine function; a batch of one takes other ways through some layers. */
    private static final int[] BATCHES = {NetworkPlans.MIN_BATCH, NetworkPlans.MIN_BATCH + 1};

    private Rehearsal() {}

    /**
     * Rehearses with the first examples of {@code sample}.
     *
     * @param told hears of each computation, as an observer does of training's own
     * @throws IllegalArgumentException if there are too few, or the network is trained by truncated backpropagation through
     *     time, whose segments are not known here
     */
    static void of(Model model, MultiDataSet sample, Consumer<Model> told) {
        long examples = sample.getFeatures()[0].size(0);
        int needed = BATCHES[BATCHES.length - 1];
        if (examples < needed) {
            throw new IllegalArgumentException(
                    "sample has " + Count.of(examples, "example") + ", expected at least " + needed);
        }
        if (backpropType(model) != BackpropType.Standard) {
            throw new IllegalArgumentException("the network is trained by " + backpropType(model) + ", expected "
                    + BackpropType.Standard + ": segments of a sequence cannot be rehearsed");
        }
        initGradients(model);
        for (int batch : BATCHES) {
            Minibatch minibatch = Minibatch.of(sample, batch);
            try (TwinPass untouched = new TwinPass(model, PassState.of(model))) {
                minibatch.give(model);
                NetworkAccess.computeSilently(model);
                told.accept(model);
            } finally {
                minibatch.takeFrom(model);
                releaseArena();
            }
        }
    }

    /**
     * Rehearses with the first examples of the minibatch that {@code model} holds. Unlike {@link #of} it leaves gradients to the next
     * pass, and saves a copy of them.
     *
     * @param give hands so many of them to the network
     * @param told hears of each computation
     */
    static void held(Model model, IntConsumer give, Consumer<Model> told) {
        initGradients(model);
        releaseArena(); // that of a whole minibatch, which would lie beside
        for (int batch : BATCHES) {
            try {
                Untouched.by(model, () -> {
                    give.accept(batch);
                    NetworkAccess.computeSilently(model);
                    told.accept(model);
                });
            } finally {
                releaseArena();
            }
        }
    }

    /** It has the size of a few examples; training is to begin with one of its own. */
    private static void releaseArena() {
        MemoryHooks.recording().releaseArena();
    }

    private static BackpropType backpropType(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getBackpropType()
                : ((ComputationGraph) model).getConfiguration().getBackpropType();
    }

    private static void initGradients(Model model) {
        INDArray view = model.getGradientsViewArray();
        if (view == null && model instanceof MultiLayerNetwork network) {
            network.initGradientsView();
        } else if (view == null && model instanceof ComputationGraph graph) {
            graph.initGradientsView();
        }
    }
}
