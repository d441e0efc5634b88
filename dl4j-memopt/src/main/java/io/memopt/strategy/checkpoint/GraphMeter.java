// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Measures the vertices of a graph during its first forward pass. Threading: confined. */
final class GraphMeter {
    private final GraphOrder order;
    private final List<Chain.Cost> costs = new ArrayList<>();

    GraphMeter(GraphOrder order) {
        this.order = order;
    }

    /** Whether the vertex at {@code position} is the next to be measured. */
    boolean expects(int position) {
        return position == costs.size();
    }

    /** The next vertex was not computed: it is an input or an output of the network. */
    void add() {
        costs.add(cost(0, 0, 0));
    }

    /** The next vertex made {@code output}. */
    void add(INDArray output, long nanos) {
        GraphVertex vertex = order.vertex(costs.size());
        INDArray[] inputs = vertex.getInputs();
        boolean fresh = Arrays.stream(inputs).noneMatch(input -> input.data() == output.data());
        costs.add(cost(inner(vertex, inputs, output), fresh ? bytes(output) : 0, nanos));
    }

    private Chain.Cost cost(long inner, long output, long nanos) {
        int position = costs.size();
        return new Chain.Cost(
                inner, output, nanos, order.keepable(position), order.reruns(position), order.until(position));
    }

    /** A reshaped or dropped-out input, and the mask of dropout, which is as large. */
    private static long inner(GraphVertex vertex, INDArray[] inputs, INDArray output) {
        Layer layer = vertex.getLayer();
        INDArray own = layer == null ? null : layer.input();
        if (layer == null || own == null) {
            return 0;
        }
        boolean fresh = own.data() != inputs[0].data() && own.data() != output.data();
        boolean masked = layer.conf().getLayer().getIDropout() != null;
        return (fresh ? bytes(own) : 0) + (masked ? bytes(own) : 0);
    }

    private static long bytes(INDArray array) {
        return array.length() * array.dataType().width();
    }

    Chain chain() {
        return new Chain(costs);
    }
}
