// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.nd4j.linalg.api.buffer.DataType;

/** The layers of a MultiLayerNetwork, one after the other. */
final class LayerStack implements Layout {
    private final MultiLayerConfiguration configuration;
    private final List<Place> places;
    private final Truncation truncation;

    private LayerStack(MultiLayerConfiguration configuration, List<Place> places, Truncation truncation) {
        this.configuration = configuration;
        this.places = places;
        this.truncation = truncation;
    }

    static LayerStack of(MultiLayerConfiguration given, InputType data) {
        MultiLayerConfiguration configuration = given.clone();
        Truncation truncation = Truncation.of(configuration.getBackpropType(), configuration.getTbpttFwdLength(), data);
        InputType input = truncation.shorten(data);
        List<InputType> types = configuration.getLayerActivationTypes(input);
        List<Place> places = new ArrayList<>();
        for (int i = 0; i < types.size(); i++) {
            Layer layer = configuration.getConf(i).getLayer();
            InputType in = i == 0 ? input : types.get(i - 1);
            places.add(new Place(
                    layer.getLayerName() == null ? "layer" + i : layer.getLayerName(),
                    Optional.of(layer),
                    layer.getClass().getSimpleName(),
                    List.of(),
                    List.of(in),
                    Place.outputOf(Optional.of(layer), in, types.get(i)),
                    i == 0,
                    i == types.size() - 1));
        }
        return new LayerStack(configuration, places, truncation);
    }

    @Override
    public List<Step> steps(StepWriter writer) {
        int last = places.size() - 1;
        writer.enter(StepWriter.ALL);
        places.subList(0, last).forEach(writer::forward);
        for (int i = last; i >= 0; i--) {
            writer.enter(gradients(i));
            writer.backward(places.get(i), gradients(i));
            if (i < last) {
                writer.close(gradients(i + 1));
            }
            writer.close(StepWriter.WORKING);
        }
        writer.close(gradients(0));
        writer.score(places.get(last));
        writer.close(StepWriter.ALL);
        return writer.steps();
    }

    /** Two workspaces take turns. */
    private static String gradients(int layer) {
        return StepWriter.GRADIENTS + (layer % 2 == 0 ? 1 : 2);
    }

    @Override
    public List<InputType> outputs() {
        return List.of(truncation.lengthen(places.get(places.size() - 1).out()));
    }

    @Override
    public List<Layer> layers() {
        return configuration.getConfs().stream()
                .map(NeuralNetConfiguration::getLayer)
                .toList();
    }

    @Override
    public NetworkBytes bytes() {
        return ParameterSizes.of(configuration.getConfs(), type().width());
    }

    @Override
    public DataType type() {
        return configuration.getDataType();
    }

    @Override
    public boolean usesWorkspaces() {
        return configuration.getTrainingWorkspaceMode() == WorkspaceMode.ENABLED;
    }

    @Override
    public int workingScopes() {
        return 2 * (places.size() + configuration.getInputPreProcessors().size());
    }

    @Override
    public int gradientScopes() {
        return places.size();
    }
}
