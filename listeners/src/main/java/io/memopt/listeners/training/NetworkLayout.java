// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * In which order Deeplearning4j visits the layers of a network. It opens the working-memory workspace once per visit, so
 * counting tells the layer. Names are unique within the network.
 *
 * @param graph true for a ComputationGraph
 * @param training visits of the training forward pass; output layers get no visit of their own there
 * @param backward visits of the backward pass, frozen layers left out
 * @param inference visits of {@code output()}
 * @param outputs output layers, in the order in which their score is computed
 */
record NetworkLayout(
        boolean graph, List<String> training, List<String> backward, List<String> inference, List<String> outputs) {

    NetworkLayout {
        training = List.copyOf(training);
        backward = List.copyOf(backward);
        inference = List.copyOf(inference);
        outputs = List.copyOf(outputs);
    }

    /**
     * The layout of {@code model}.
     *
     * @throws IllegalArgumentException if it is neither a MultiLayerNetwork nor a ComputationGraph, or not initialised
     */
    static NetworkLayout of(Model model) {
        if (model instanceof MultiLayerNetwork network && network.getLayers() != null) {
            return ofLayers(network.getLayers());
        }
        if (model instanceof ComputationGraph graph && graph.getVertices() != null) {
            return ofVertices(graph);
        }
        throw new IllegalArgumentException("Cannot observe " + model.getClass().getName()
                + ": expected an initialised MultiLayerNetwork or ComputationGraph (call init() first).");
    }

    private static NetworkLayout ofLayers(Layer[] layers) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < layers.length; i++) {
            all.add(nameOf(i, layers[i], all));
        }
        int last = layers.length - 1;
        List<String> backward = new ArrayList<>();
        for (int i = last; i >= 0 && !(layers[i] instanceof FrozenLayer); i--) {
            backward.add(all.get(i));
        }
        return new NetworkLayout(false, all.subList(0, last), backward, all, List.of(all.get(last)));
    }

    private static String nameOf(int index, Layer layer, List<String> taken) {
        String given = layer.conf() == null || layer.conf().getLayer() == null
                ? null
                : layer.conf().getLayer().getLayerName();
        String name = given == null || given.isBlank() ? layer.getClass().getSimpleName() : given;
        boolean own = given != null && !given.isBlank() && !taken.contains(given);
        return own ? name : index + "_" + name;
    }

    private static NetworkLayout ofVertices(ComputationGraph graph) {
        Set<String> outputs = new HashSet<>(graph.getConfiguration().getNetworkOutputs());
        List<String> training = new ArrayList<>();
        List<String> inference = new ArrayList<>();
        List<String> backward = new ArrayList<>();
        for (int index : graph.topologicalSortOrder()) {
            GraphVertex vertex = graph.getVertices()[index];
            String name = vertex.getVertexName();
            inference.add(name);
            if (!(outputs.contains(name) && vertex.getLayer() instanceof IOutputLayer)) {
                training.add(name);
            }
            if (!vertex.isInputVertex() && !isFrozen(vertex)) {
                backward.add(name);
            }
        }
        Collections.reverse(backward);
        return new NetworkLayout(
                true, training, backward, inference, graph.getConfiguration().getNetworkOutputs());
    }

    private static boolean isFrozen(GraphVertex vertex) {
        boolean frozenLayer = vertex.hasLayer() && vertex.getLayer() instanceof FrozenLayer;
        return frozenLayer || vertex instanceof FrozenVertex;
    }
}
