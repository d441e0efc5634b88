// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.event.Phase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The backward pass of a graph, vertex by vertex from the last position to the first. As in Deeplearning4j, gradients of a
 * vertex's inputs lie in a workspace of their own that is closed when the first of its producers has used them, and then serves
 * another vertex; where several vertices use one output, their gradients are added in the order of the pass.
 *
 * <p>Threading: confined.
 */
final class GraphBackward implements AutoCloseable {
    private final GraphOrder order;
    private final PassVisits visits;
    private final PassAccess access;
    private final MemoryWorkspace outer;
    private final boolean[] reached;
    private final List<List<MemoryWorkspace>> consumedAt = new ArrayList<>();
    private final IdentityHashMap<MemoryWorkspace, LayerWorkspaceMgr> open = new IdentityHashMap<>();
    private final Deque<LayerWorkspaceMgr> free = new ArrayDeque<>();
    private final List<Map<String, Pair<INDArray, Character>>> gradients = new ArrayList<>();
    private int managers;

    /** {@code outer}: the workspace that is open around the whole pass. */
    GraphBackward(GraphOrder order, PassVisits visits, PassAccess access, MemoryWorkspace outer) {
        this.order = order;
        this.visits = visits;
        this.access = access;
        this.outer = outer;
        this.reached = new boolean[order.length()];
        for (int i = 0; i < order.length(); i++) {
            consumedAt.add(new ArrayList<>());
        }
    }

    /** The next vertex; all after it have been visited. */
    void visit(int position) {
        if (order.goesBack(position)) {
            compute(position);
        }
        for (MemoryWorkspace consumed : consumedAt.get(position)) {
            consumed.close();
            free.push(Objects.requireNonNull(open.remove(consumed), "manager"));
        }
        consumedAt.get(position).clear();
    }

    private void compute(int position) {
        GraphVertex vertex = order.vertex(position);
        visits.next(Phase.BACKWARD, order.backwardVisit(position));
        LayerWorkspaceMgr manager = free.isEmpty() ? access.backward("WS_LAYER_ACT_" + managers++) : free.pop();
        MemoryWorkspace scope = manager.notifyScopeEntered(ArrayType.ACTIVATION_GRAD);
        open.put(scope, manager);
        // These scopes are not nested, so that none may become current again when another one is closed.
        scope.setPreviousWorkspace(outer);
        consumedAt.get(order.from(position)).add(scope);
        Pair<Gradient, INDArray[]> result;
        try (MemoryWorkspace working = manager.notifyScopeEntered(ArrayType.BP_WORKING_MEM)) {
            working.setPreviousWorkspace(outer);
            result = vertex.doBackward(false, manager);
        }
        handBack(position, result.getSecond());
        collect(vertex.getVertexName(), result.getFirst());
    }

    /** An output that got no gradient from its first user takes none from others, and their gradients move up, as in Deeplearning4j. */
    private void handBack(int position, @Nullable INDArray[] errors) {
        int next = 0;
        for (VertexIndices edge : order.producers(position)) {
            int producer = order.positionOf(edge);
            GraphVertex vertex = order.vertex(producer);
            if (!reached[producer]) {
                vertex.setEpsilon(errors[next++]);
            } else if (vertex.getEpsilon() != null) {
                vertex.setEpsilon(vertex.getEpsilon().addi(errors[next++]));
            }
            reached[producer] = true;
        }
    }

    private void collect(String vertex, @Nullable Gradient gradient) {
        if (gradient != null) {
            Map<String, Pair<INDArray, Character>> its = new LinkedHashMap<>();
            gradient.gradientForVariable()
                    .forEach((name, array) ->
                            its.put(vertex + "_" + name, new Pair<>(array, gradient.flatteningOrderForVariable(name))));
            gradients.add(its);
        }
    }

    /** All gradients, those of the first vertex first. */
    Gradient gradient(INDArray flat) {
        Gradient all = new DefaultGradient(flat);
        for (int i = gradients.size() - 1; i >= 0; i--) {
            gradients.get(i).forEach((name, array) -> all.setGradientFor(name, array.getFirst(), array.getSecond()));
        }
        return all;
    }

    /** Closes what is open, which is nothing unless the pass failed. */
    @Override
    public void close() {
        List.copyOf(open.keySet()).forEach(MemoryWorkspace::close);
        open.clear();
    }
}
