// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.offload.OutputStore;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * One checkpointed forward and backward pass of a ComputationGraph, whose topological order is cut into segments. Scores of
 * output layers are computed when the backward pass has visited them, since their inputs do not live longer, and summed in the
 * order of the network's outputs.
 *
 * <p>Threading: confined to the training thread.
 */
final class GraphRun implements SegmentRun {
    private final ComputationGraph graph;
    private final Segments segments;
    private final GraphOrder order;
    private final PassAccess access;
    private final PassVisits visits;
    private final @Nullable GraphMeter meter;
    private final KeptOutputs kept;
    private final GraphForward forward;
    private final List<String> outputs;
    private final double[] scores;

    GraphRun(
            ComputationGraph graph,
            PassVisits visits,
            Segments segments,
            @Nullable OutputStore store,
            boolean measures) {
        this.graph = graph;
        this.segments = segments;
        this.order = new GraphOrder(graph);
        this.access = new PassAccess(graph, List.of(graph.getInputs()));
        this.visits = visits;
        this.meter = measures ? new GraphMeter(order) : null;
        this.kept = new KeptOutputs(access, store);
        this.forward = new GraphForward(graph, order, visits, access, kept, meter);
        this.outputs = graph.getConfiguration().getNetworkOutputs();
        this.scores = new double[outputs.size()];
    }

    /** The vertices of {@code graph} in segments of about equal length. */
    static Segments even(ComputationGraph graph) {
        GraphOrder order = new GraphOrder(graph);
        return Segments.even(order.length(), index -> order.cuttable(index + 1));
    }

    @Override
    public @Nullable Chain compute() {
        access.synchronizeCounts();
        INDArray gradients = NetworkAccess.flatGradients(graph);
        MemoryWorkspace before = Nd4j.getMemoryManager().getCurrentWorkspace();
        try (MemoryWorkspace all = access.kept().notifyScopeEntered(ArrayType.ACTIVATIONS)) {
            graph.setLayerMaskArrays(graph.getInputMaskArrays(), graph.getLabelMaskArrays());
            kept.begin(segments.stages(i -> order.uses(segments.start(i), segments.end(i))));
            try (GraphBackward backward = new GraphBackward(order, visits, access, all)) {
                forward();
                backward(backward);
                graph.setGradient(backward.gradient(gradients));
            } finally {
                Nd4j.getMemoryManager().setCurrentWorkspace(all);
                kept.end();
            }
            graph.setScore(Arrays.stream(scores).reduce(0, Double::sum));
            tellBackward();
        } finally {
            Nd4j.getMemoryManager().setCurrentWorkspace(before);
        }
        for (GraphVertex vertex : graph.getVertices()) {
            vertex.clear();
        }
        return meter == null ? null : meter.chain();
    }

    /** All segments but the last, of which only what later ones use stays. */
    private void forward() {
        for (int i = 0; i < segments.count() - 1; i++) {
            try (MemoryWorkspace segment = forward.inner().notifyScopeEntered(ArrayType.INPUT)) {
                kept.stage(i);
                forward.compute(segments.start(i), segments.end(i));
                forward.forget(segments.start(i), segments.end(i));
            }
        }
    }

    private void backward(GraphBackward backward) {
        double regularization = NetworkAccess.regularization(graph);
        for (int i = segments.count() - 1; i >= 0; i--) {
            int start = segments.start(i);
            int end = segments.end(i);
            try (MemoryWorkspace segment = forward.inner().notifyScopeEntered(ArrayType.INPUT)) {
                kept.stage(segments.backwardStage(i));
                if (i == segments.count() - 1) {
                    forward.compute(start, end);
                    tellForward();
                } else {
                    forward.computeAgain(start, end);
                }
                for (int position = end - 1; position >= start; position--) {
                    if (order.isOutput(position)) {
                        label(position);
                    }
                    backward.visit(position);
                    if (order.isOutput(position)) {
                        score(position, regularization);
                    }
                }
            }
        }
    }

    private void label(int position) {
        if (outputLayer(position) instanceof IOutputLayer layer) {
            layer.setLabels(Objects.requireNonNull(NetworkAccess.labels(graph), "labels")[number(position)]);
        }
    }

    /** The regularisation counts once, with the first output. */
    private void score(int position, double regularization) {
        int number = number(position);
        if (order.vertex(position) instanceof LayerVertex vertex && !vertex.isSetLayerInput()) {
            vertex.applyPreprocessorAndSetInput(forward.inner());
        }
        Layer layer = outputLayer(position);
        INDArray[] masks = graph.getLabelMaskArrays();
        layer.setMaskArray(masks == null ? null : masks[number]);
        try (MemoryWorkspace working = forward.inner().notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            scores[number] =
                    ((IOutputLayer) layer).computeScore(number == 0 ? regularization : 0, true, forward.inner());
        }
        visits.lost();
    }

    private int number(int position) {
        return outputs.indexOf(order.vertex(position).getVertexName());
    }

    private Layer outputLayer(int position) {
        Layer layer = order.vertex(position).getLayer();
        return layer instanceof FrozenLayerWithBackprop frozen ? frozen.getInsideLayer() : layer;
    }

    private void tellForward() {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (TrainingListener listener : List.copyOf(graph.getListeners())) {
                listener.onForwardPass(graph, Collections.emptyMap());
            }
        }
    }

    private void tellBackward() {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (TrainingListener listener : List.copyOf(graph.getListeners())) {
                listener.onBackwardPass(graph);
            }
        }
    }
}
