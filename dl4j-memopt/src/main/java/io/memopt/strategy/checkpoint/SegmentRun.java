// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.strategy.offload.OutputStore;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;

/** One checkpointed forward and backward pass of a network. Threading: confined to the training thread. */
interface SegmentRun {

    /** Computes gradients and score; returns what was measured, null if nothing was to be. */
    @Nullable
    Chain compute();

    /**
     * Of the minibatch that {@code model} holds.
     *
     * @param store where kept outputs go; null for memory
     * @param measures whether layers are measured
     */
    static SegmentRun of(
            Model model, PassVisits visits, Segments segments, @Nullable OutputStore store, boolean measures) {
        return model instanceof MultiLayerNetwork layers
                ? new ChainRun(layers, visits, segments, store, measures)
                : new GraphRun((ComputationGraph) model, visits, segments, store, measures);
    }

    /** The layers of {@code model} in segments of about equal length. */
    static Segments even(Model model) {
        return model instanceof MultiLayerNetwork layers
                ? ChainRun.even(layers)
                : GraphRun.even((ComputationGraph) model);
    }
}
