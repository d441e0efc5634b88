// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.event.Phase;
import io.memopt.strategy.NormalizationResidue;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Computes segments of a graph forward, and again. Within a segment each vertex hands its output to those that use it, in
 * Deeplearning4j's order; what comes from an earlier segment is fetched when it is used.
 *
 * <p>Threading: confined.
 */
final class GraphForward {
    private final ComputationGraph graph;
    private final GraphOrder order;
    private final PassVisits visits;
    private final LayerWorkspaceMgr inner;
    private final KeptOutputs kept;
    private final LayerWorkspaceMgr discarded;
    private final RandomState[] drawn;
    private final @Nullable GraphMeter meter;

    GraphForward(
            ComputationGraph graph,
            GraphOrder order,
            PassVisits visits,
            PassAccess access,
            KeptOutputs kept,
            @Nullable GraphMeter meter) {
        this.graph = graph;
        this.order = order;
        this.visits = visits;
        this.inner = access.inner();
        this.kept = kept;
        this.discarded = access.discarded();
        this.drawn = new RandomState[order.length()];
        this.meter = meter;
    }

    LayerWorkspaceMgr inner() {
        return inner;
    }

    /** All vertices from {@code start} to {@code end}, exclusive, for the first time; their segment's workspace is open. */
    void compute(int start, int end) {
        for (int i = start; i < end; i++) {
            drawn[i] = RandomState.now();
            if (order.isOutput(i)) {
                enter(i, start);
                unmeasured(i);
            } else {
                activate(i, start, end, crosses(i, end) ? kept.manager() : inner);
            }
        }
    }

    /** What layers would reuse in their backward pass lies in a workspace that is about to be closed, or is to be drawn again. */
    void forget(int start, int end) {
        List<Layer> layers = new ArrayList<>();
        for (int i = start; i < end; i++) {
            if (order.vertex(i).hasLayer()) {
                layers.add(order.vertex(i).getLayer());
            }
        }
        layers.forEach(Layer::clearNoiseWeightParams);
        NormalizationResidue.of(layers.toArray(new Layer[0])).forEach(NormalizationResidue::drop);
    }

    /** What the backward pass of a segment needs, from the random numbers that were drawn the first time. */
    void computeAgain(int start, int end) {
        RandomState now = RandomState.now();
        boolean[] used = usedFrom(start, end);
        for (int i = start; i < end; i++) {
            if (computedAgain(i, end, used)) {
                drawn[i].restore();
                activate(i, start, end, crosses(i, end) ? discarded : inner);
            } else {
                if (order.goesBack(i)) {
                    enter(i, start);
                }
                handKept(i, end);
            }
        }
        now.restore();
    }

    /** For each vertex of a segment whether another one of it uses its output again. */
    private boolean[] usedFrom(int start, int end) {
        boolean[] used = new boolean[end];
        for (int i = end - 1; i >= start; i--) {
            if (order.goesBack(i) || computedAgain(i, end, used)) {
                for (VertexIndices edge : order.producers(i)) {
                    if (order.positionOf(edge) >= start) {
                        used[order.positionOf(edge)] = true;
                    }
                }
            }
        }
        return used;
    }

    private boolean computedAgain(int position, int end, boolean[] used) {
        if (order.isOutput(position) || order.vertex(position).isInputVertex()) {
            return false;
        }
        return (used[position] && !crosses(position, end)) || (order.goesBack(position) && order.reruns(position));
    }

    private boolean crosses(int position, int end) {
        return order.until(position) >= end;
    }

    private void activate(int position, int start, int end, LayerWorkspaceMgr to) {
        GraphVertex vertex = order.vertex(position);
        visits.next(Phase.FORWARD, order.forwardVisit(position));
        try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            if (vertex.isInputVertex()) {
                unmeasured(position);
                hand(position, end, keptOutput(position));
                return;
            }
            long begun = System.nanoTime();
            fetch(position, start);
            INDArray output = vertex.doForward(true, to);
            if (meter != null && meter.expects(position)) {
                meter.add(output, System.nanoTime() - begun);
            }
            if (crosses(position, end) && to != discarded) {
                kept.keep(position, output);
            }
            if (!crosses(position, end)) {
                hand(position, end, output);
            } else if (order.isUsedBefore(position, end)) {
                hand(position, end, keptOutput(position));
            }
        }
    }

    private void unmeasured(int position) {
        if (meter != null && meter.expects(position)) {
            meter.add();
        }
    }

    /** A vertex that is not computed forward gets its inputs all the same. */
    private void enter(int position, int start) {
        for (VertexIndices edge : order.producers(position)) {
            if (order.positionOf(edge) < start) {
                try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
                    fetch(position, start);
                }
                visits.lost();
                return;
            }
        }
    }

    private void fetch(int position, int start) {
        VertexIndices[] producers = order.producers(position);
        for (int i = 0; i < producers.length; i++) {
            int producer = order.positionOf(producers[i]);
            if (producer < start) {
                order.vertex(position).setInput(i, keptOutput(producer), inner);
            }
        }
    }

    private INDArray keptOutput(int position) {
        GraphVertex vertex = order.vertex(position);
        INDArray output = vertex.isInputVertex() ? graph.getInput(vertex.getVertexIndex()) : kept.get(position);
        if (output == null) {
            throw new IllegalStateException("The output of vertex " + vertex.getVertexName() + " at position "
                    + position + " was not kept, although a later segment uses it.");
        }
        return output;
    }

    private void handKept(int position, int end) {
        boolean stays = crosses(position, end) || order.vertex(position).isInputVertex();
        if (stays && order.isUsedBefore(position, end)) {
            try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
                hand(position, end, keptOutput(position));
            }
            visits.lost();
        }
    }

    private void hand(int position, int end, INDArray output) {
        for (VertexIndices edge : order.consumers(position)) {
            int consumer = order.positionOf(edge);
            if (consumer < end) {
                order.vertex(consumer).setInput(edge.getVertexEdgeNumber(), output, inner);
            }
        }
    }
}
