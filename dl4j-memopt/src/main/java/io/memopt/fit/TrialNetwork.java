// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** What a trial does with a network, whichever of Deeplearning4j's two kinds it is. Not thread-safe. */
final class TrialNetwork implements AutoCloseable {
    private final Model model;

    private TrialNetwork(Model model) {
        this.model = model;
    }

    /** A copy of {@code original} with parameters of its own and no listeners; the original is only read. */
    static TrialNetwork copyOf(Model original) {
        return new TrialNetwork(
                original instanceof MultiLayerNetwork network ? copy(network) : copy((ComputationGraph) original));
    }

    private static MultiLayerNetwork copy(MultiLayerNetwork original) {
        MultiLayerNetwork copy =
                new MultiLayerNetwork(original.getLayerWiseConfigurations().clone());
        copy.init(parametersOf(original), false);
        for (int i = 0; i < original.getnLayers(); i++) {
            boolean frozen = original.getLayer(i) instanceof FrozenLayer && !(copy.getLayer(i) instanceof FrozenLayer);
            if (frozen) {
                copy.getLayers()[i] = new FrozenLayer(copy.getLayer(i));
            }
        }
        return copy;
    }

    private static ComputationGraph copy(ComputationGraph original) {
        ComputationGraph copy = new ComputationGraph(original.getConfiguration().clone());
        copy.init(parametersOf(original), false);
        for (GraphVertex vertex : original.getVertices()) {
            GraphVertex same = copy.getVertex(vertex.getVertexName());
            if (vertex.hasLayer()
                    && vertex.getLayer() instanceof FrozenLayer
                    && !(same.getLayer() instanceof FrozenLayer)) {
                same.setLayerAsFrozen();
            }
        }
        return copy;
    }

    private static @Nullable INDArray parametersOf(Model network) {
        return network.numParams() == 0 ? null : network.params().dup();
    }

    Model model() {
        return model;
    }

    /** From now on trains with workspaces, whatever its configuration says. */
    void useWorkspaces() {
        if (model instanceof MultiLayerNetwork network) {
            network.getLayerWiseConfigurations().setTrainingWorkspaceMode(WorkspaceMode.ENABLED);
        } else {
            ComputationGraph graph = (ComputationGraph) model;
            graph.getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.ENABLED);
            graph.getConfiguration().setInferenceWorkspaceMode(WorkspaceMode.ENABLED); // asked by its backward pass
        }
    }

    static WorkspaceMode trainingMode(Model model) {
        WorkspaceMode mode = model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getTrainingWorkspaceMode()
                : ((ComputationGraph) model).getConfiguration().getTrainingWorkspaceMode();
        return mode == null ? WorkspaceMode.NONE : mode;
    }

    static DataType typeOf(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getDataType()
                : ((ComputationGraph) model).getConfiguration().getDataType();
    }

    void listen(TrainingListener listener) {
        if (model instanceof MultiLayerNetwork network) {
            network.setListeners(listener);
        } else {
            ((ComputationGraph) model).setListeners(listener);
        }
    }

    void fit(MultiDataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(new DataSet(
                    data.getFeatures(0),
                    data.getLabels(0),
                    first(data.getFeaturesMaskArrays()),
                    first(data.getLabelsMaskArrays())));
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    List<ItemShape> output(INDArray[] features) {
        INDArray[] outputs = model instanceof MultiLayerNetwork network
                ? new INDArray[] {network.output(features[0])}
                : ((ComputationGraph) model).output(features);
        return Arrays.stream(outputs).map(ItemShape::of).toList();
    }

    /** What it holds; the gradients and the updater are made by the first iteration. */
    NetworkBytes bytes() {
        return new NetworkBytes(bytes(model.params()), bytes(model.getGradientsViewArray()), bytes(updaterState()));
    }

    /** Gives back what the copy holds outside of workspaces, without a garbage collection. */
    @Override
    public void close() {
        Stream.of(
                        Optional.ofNullable(model.params()),
                        Optional.ofNullable(model.getGradientsViewArray()),
                        Optional.ofNullable(updaterState()))
                .flatMap(Optional::stream)
                .filter(array -> !array.wasClosed() && array.closeable())
                .forEach(INDArray::close);
    }

    private @Nullable INDArray updaterState() {
        if (model instanceof MultiLayerNetwork network) {
            return network.getUpdater(false) == null
                    ? null
                    : network.getUpdater(false).getStateViewArray();
        }
        ComputationGraph graph = (ComputationGraph) model;
        return graph.getUpdater(false) == null ? null : graph.getUpdater(false).getStateViewArray();
    }

    private static long bytes(@Nullable INDArray array) {
        return array == null ? 0 : array.length() * array.dataType().width();
    }

    private static @Nullable INDArray first(@Nullable INDArray @Nullable [] arrays) {
        return arrays == null ? null : arrays[0];
    }
}
