// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.graph.vertex.impl.MergeVertex;
import org.deeplearning4j.nn.graph.vertex.impl.PreprocessorVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.util.MaskLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;

/**
 * The vertices of a ComputationGraph in the topological order in which Deeplearning4j computes them, at positions that count from
 * 0, with what follows from the edges between them.
 *
 * <p>Threading: confined. O(edges) to make.
 */
final class GraphOrder {
    /** Vertices without layers that Deeplearning4j has; not those that run a SameDiff of the user's. */
    private static final String STATELESS = "org.deeplearning4j.nn.graph.vertex.";

    private final GraphVertex[] vertices;
    private final int[] positions;
    private final int[] until;
    private final boolean[] keepable;
    private final boolean[] output;
    private final int[] forwardVisits;
    private final int[] backwardVisits;

    GraphOrder(ComputationGraph graph) {
        int[] order = graph.topologicalSortOrder();
        this.vertices = new GraphVertex[order.length];
        this.positions = new int[order.length];
        for (int i = 0; i < order.length; i++) {
            vertices[i] = graph.getVertices()[order[i]];
            positions[order[i]] = i;
        }
        this.output = outputs(graph);
        this.until = new int[order.length];
        this.keepable = new boolean[order.length];
        for (int i = order.length - 1; i >= 0; i--) {
            look(i);
        }
        this.forwardVisits = visits(false);
        this.backwardVisits = visits(true);
    }

    private boolean[] outputs(ComputationGraph graph) {
        Set<String> names = Set.copyOf(graph.getConfiguration().getNetworkOutputs());
        boolean[] are = new boolean[vertices.length];
        for (int i = 0; i < are.length; i++) {
            are[i] = names.contains(vertices[i].getVertexName());
        }
        return are;
    }

    /** Those after {@code position} are known. */
    private void look(int position) {
        boolean input = vertices[position].isInputVertex();
        int last = position;
        boolean keeps = true;
        for (VertexIndices edge : consumers(position)) {
            int consumer = positionOf(edge);
            last = Math.max(last, consumer);
            keeps &= input || leavesInput(vertices[consumer]);
            keeps &= !passesOn(vertices[consumer]) || keepable[consumer];
        }
        // A network's input is there all the time, so that one that is written into forbids every cut.
        until[position] = input && !keeps ? vertices.length : last;
        keepable[position] = keeps;
    }

    private static boolean leavesInput(GraphVertex vertex) {
        Layer layer = vertex.getLayer();
        return layer == null ? LayerRules.isTheirs(vertex) : LayerRules.leavesInput(layer);
    }

    /** Whether the output of {@code vertex} may be its very input. */
    private static boolean passesOn(GraphVertex vertex) {
        Layer layer = vertex.getLayer();
        return (vertex instanceof MergeVertex && vertex.getNumInputArrays() == 1)
                || vertex instanceof PreprocessorVertex
                || vertex instanceof FrozenVertex
                || layer instanceof BaseWrapperLayer
                || layer instanceof MaskLayer
                || !LayerRules.isTheirs(layer == null ? vertex : layer);
    }

    /** Deeplearning4j's numbers of visits, from the front or from the back. */
    private int[] visits(boolean fromBack) {
        int[] visits = new int[vertices.length];
        int next = 0;
        for (int i = 0; i < visits.length; i++) {
            int position = fromBack ? visits.length - 1 - i : i;
            visits[position] = next;
            next += (fromBack ? goesBack(position) : !output[position]) ? 1 : 0;
        }
        return visits;
    }

    int length() {
        return vertices.length;
    }

    GraphVertex vertex(int position) {
        return vertices[position];
    }

    int positionOf(VertexIndices edge) {
        return positions[edge.getVertexIndex()];
    }

    /** Edges to those that use the output. */
    VertexIndices[] consumers(int position) {
        VertexIndices[] edges = vertices[position].getOutputVertices();
        return edges == null ? new VertexIndices[0] : edges;
    }

    /** Edges to those whose output is used. */
    VertexIndices[] producers(int position) {
        VertexIndices[] edges = vertices[position].getInputVertices();
        return edges == null ? new VertexIndices[0] : edges;
    }

    /** Whether a vertex before position {@code end} uses the output. */
    boolean isUsedBefore(int position, int end) {
        for (VertexIndices edge : consumers(position)) {
            if (positionOf(edge) < end) {
                return true;
            }
        }
        return false;
    }

    /** Whose outputs the vertices from {@code start} to {@code end}, exclusive, use, if those are kept; not those of the network's inputs. */
    Set<Integer> uses(int start, int end) {
        Set<Integer> used = new HashSet<>();
        for (int i = start; i < end; i++) {
            for (VertexIndices edge : producers(i)) {
                int producer = positionOf(edge);
                boolean crosses = producer < start || until(producer) >= end;
                if (crosses && !vertices[producer].isInputVertex()) {
                    used.add(producer);
                }
            }
        }
        return used;
    }

    /** Last position that uses the output; its own if none does. */
    int until(int position) {
        return until[position];
    }

    /** First position whose output is used; 0 if none. */
    int from(int position) {
        return Arrays.stream(producers(position))
                .mapToInt(this::positionOf)
                .min()
                .orElse(0);
    }

    /** Whether the output can be computed from twice. */
    boolean keepable(int position) {
        return keepable[position];
    }

    /** Whether it is an output of the network, which training computes backward only. */
    boolean isOutput(int position) {
        return output[position];
    }

    /** Whether the backward pass visits it. */
    boolean goesBack(int position) {
        GraphVertex vertex = vertices[position];
        return !vertex.isInputVertex()
                && !(vertex.getLayer() instanceof FrozenLayer)
                && !(vertex instanceof FrozenVertex);
    }

    /** Whether its backward pass needs more of its forward pass than its inputs, shapes apart. */
    boolean reruns(int position) {
        Layer layer = vertices[position].getLayer();
        return layer == null
                ? !vertices[position].getClass().getName().startsWith(STATELESS)
                : LayerRules.reruns(layer);
    }

    /** Whether the vertices can be cut before position {@code end}. */
    boolean cuttable(int end) {
        for (int i = 0; i < end; i++) {
            if (until[i] >= end && !keepable[i]) {
                return false;
            }
        }
        return true;
    }

    int forwardVisit(int position) {
        return forwardVisits[position];
    }

    int backwardVisit(int position) {
        return backwardVisits[position];
    }
}
