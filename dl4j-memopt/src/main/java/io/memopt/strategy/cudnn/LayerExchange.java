// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.strategy.NetworkAccess;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;

/**
 * Puts one layer object of a network in the place of another. What the network remembers of the layer lies in the layer's fields, which
 * the one that comes takes over from the one that goes: parameters and gradients are the same arrays, so that whoever holds the other
 * object, such as an updater, sees the same.
 */
final class LayerExchange {
    private LayerExchange() {}

    /** True when each pass backwards comes to all layers that it came to forwards: none of them is frozen. */
    static boolean isTrainedThroughout(Model model) {
        for (Layer layer : NetworkAccess.layers(model)) {
            if (layer instanceof FrozenLayer) {
                return false;
            }
        }
        if (model instanceof ComputationGraph graph) {
            for (GraphVertex vertex : graph.getVertices()) {
                if (vertex instanceof FrozenVertex) {
                    return false;
                }
            }
        }
        return true;
    }

    /** The layers in the order in which a forward pass computes them. */
    static List<Layer> inOrder(Model model) {
        if (!(model instanceof ComputationGraph graph)) {
            return List.of(NetworkAccess.layers(model));
        }
        List<Layer> ordered = new ArrayList<>();
        for (int vertex : graph.topologicalSortOrder()) {
            if (graph.getVertices()[vertex].hasLayer()) {
                ordered.add(graph.getVertices()[vertex].getLayer());
            }
        }
        return ordered;
    }

    /**
     * Exchanges {@code goes} for {@code comes}.
     *
     * @param shared the most special class of both, whose fields are taken over
     * @return false when {@code goes} is not there
     * @throws IllegalStateException if a field can be neither read nor written
     */
    static <L extends Layer> boolean exchange(Model model, Class<L> shared, L goes, L comes) {
        Layer[] layers = NetworkAccess.layers(model);
        for (int i = 0; i < layers.length; i++) {
            if (layers[i] == goes) {
                takeOver(shared, goes, comes);
                layers[i] = comes;
                if (model instanceof ComputationGraph graph) {
                    exchangeInVertex(graph, goes, comes);
                }
                return true;
            }
        }
        return false;
    }

    private static void exchangeInVertex(ComputationGraph graph, Layer goes, Layer comes) {
        for (GraphVertex vertex : graph.getVertices()) {
            if (vertex instanceof LayerVertex place && place.getLayer() == goes) {
                place.setLayer(comes);
            }
        }
    }

    private static void takeOver(Class<?> shared, Object from, Object to) {
        for (Class<?> type = shared; type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    copy(field, from, to);
                }
            }
        }
    }

    private static void copy(Field field, Object from, Object to) {
        try {
            field.setAccessible(true);
            field.set(to, field.get(from));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be taken over", e);
        }
    }
}
