// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex;
import org.deeplearning4j.nn.graph.vertex.impl.MergeVertex;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.pooling.GlobalPoolingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;

/**
 * For which convolution layers the backward pass may take the forward pass's result {@code z} instead of computing it again.
 *
 * <p>{@code IDENTITY}: always, for the derivative does not look at {@code z}. Plain {@code RELU}: the activation overwrote
 * {@code z} by {@code max(z, 0)}, and the derivative asks for {@code z > 0}, which is the same of both; so it may where nobody
 * writes to the layer's output. Deeplearning4j lets the dropout of a following layer write to its input in place, hence only
 * where all followers are of classes known not to do so and have no dropout. Other activations need {@code z} itself.
 */
final class ForwardReuseRule {
    private static final Set<Class<?>> READERS = Set.of(
            ConvolutionLayer.class,
            SubsamplingLayer.class,
            BatchNormalization.class,
            DenseLayer.class,
            ActivationLayer.class,
            GlobalPoolingLayer.class);

    private static final Set<Class<?>> READING_VERTICES = Set.of(ElementWiseVertex.class, MergeVertex.class);

    private ForwardReuseRule() {}

    /** @param position of {@code layer} among the network's layers */
    static boolean allows(Model model, Layer layer, int position) {
        IActivation activation = ((BaseLayer) layer.conf().getLayer()).getActivationFn();
        if (activation instanceof ActivationIdentity) {
            return true;
        }
        return new ActivationReLU().equals(activation)
                && (model instanceof MultiLayerNetwork network
                        ? position + 1 < network.getnLayers() && onlyReads(network.getLayer(position + 1))
                        : followersOnlyRead((ComputationGraph) model, layer));
    }

    private static boolean followersOnlyRead(ComputationGraph graph, Layer layer) {
        List<GraphVertex> followers = new ArrayList<>();
        for (GraphVertex vertex : graph.getVertices()) {
            if (vertex.hasLayer() && vertex.getLayer() == layer && vertex.getOutputVertices() != null) {
                for (VertexIndices follower : vertex.getOutputVertices()) {
                    followers.add(graph.getVertices()[follower.getVertexIndex()]);
                }
            }
        }
        return !followers.isEmpty() && followers.stream().allMatch(ForwardReuseRule::onlyReads);
    }

    private static boolean onlyReads(GraphVertex vertex) {
        return vertex.hasLayer() ? onlyReads(vertex.getLayer()) : READING_VERTICES.contains(vertex.getClass());
    }

    private static boolean onlyReads(Layer layer) {
        return READERS.contains(layer.getClass()) && layer.conf().getLayer().getIDropout() == null;
    }
}
