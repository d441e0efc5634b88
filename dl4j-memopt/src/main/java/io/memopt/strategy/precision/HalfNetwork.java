// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import io.memopt.strategy.ListenerRelay;
import io.memopt.strategy.NetworkAccess;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Makes the copy of a network that computes in half precision: same layers, parameters rounded, losses scaled, no regularisation,
 * which the updater applies to the parameters themselves. Threading: stateless.
 */
final class HalfNetwork {
    private HalfNetwork() {}

    /** It has no updater; its listener tells those of {@code network}. */
    static Model of(Model network, LossScale scale) {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray parameters = network.params().castTo(DataType.FLOAT16);
            Model half = network instanceof MultiLayerNetwork layers
                    ? copy(layers, parameters)
                    : copy((ComputationGraph) network, parameters);
            for (Layer layer : NetworkAccess.layers(half)) {
                prepare(layer, scale);
            }
            half.setListeners(List.of(new ListenerRelay(network)));
            return half;
        }
    }

    private static MultiLayerNetwork copy(MultiLayerNetwork network, INDArray parameters) {
        MultiLayerConfiguration configuration = MultiLayerConfiguration.fromJson(
                network.getLayerWiseConfigurations().toJson());
        configuration.setDataType(DataType.FLOAT16);
        MultiLayerNetwork half = new MultiLayerNetwork(configuration);
        half.init(parameters, false);
        return half;
    }

    private static ComputationGraph copy(ComputationGraph network, INDArray parameters) {
        ComputationGraphConfiguration configuration = ComputationGraphConfiguration.fromJson(
                network.getConfiguration().toJson());
        configuration.setDataType(DataType.FLOAT16);
        ComputationGraph half = new ComputationGraph(configuration);
        half.init(parameters, false);
        for (GraphVertex vertex : network.getVertices()) {
            if (vertex.getLayer() instanceof FrozenLayer) {
                half.getVertex(vertex.getVertexName()).setLayerAsFrozen();
            }
        }
        return half;
    }

    private static void prepare(Layer layer, LossScale scale) {
        Layer inner = layer;
        while (inner instanceof BaseWrapperLayer wrapper) {
            inner = wrapper.getUnderlying();
        }
        org.deeplearning4j.nn.conf.layers.Layer configuration = inner.conf().getLayer();
        if (configuration instanceof BaseLayer base) {
            base.setRegularization(List.of());
            base.setRegularizationBias(List.of());
        }
        if (inner instanceof IOutputLayer) {
            LossFunctions.scale(configuration, scale);
        }
    }
}
