// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.nd4j.linalg.api.buffer.DataType;

/** The vertices of a ComputationGraph. */
final class LayerGraph implements Layout {
    private final ComputationGraphConfiguration configuration;
    private final List<Place> places;
    private final Truncation truncation;

    private LayerGraph(ComputationGraphConfiguration configuration, List<Place> places, Truncation truncation) {
        this.configuration = configuration;
        this.places = places;
        this.truncation = truncation;
    }

    static LayerGraph of(ComputationGraphConfiguration given, InputType... data) {
        ComputationGraphConfiguration configuration = given.clone();
        Truncation truncation = Truncation.of(configuration.getBackpropType(), configuration.getTbpttFwdLength(), data);
        InputType[] inputs = Arrays.stream(data).map(truncation::shorten).toArray(InputType[]::new);
        Map<String, InputType> types = configuration.getLayerActivationTypes(true, false, inputs);
        for (int i = 0; i < inputs.length; i++) {
            types.put(configuration.getNetworkInputs().get(i), inputs[i]);
        }
        ComputationGraph graph = new ComputationGraph(configuration);
        var indices = graph.calculateIndices();
        List<Place> places = new ArrayList<>();
        for (int index : indices.getTopologicalSortOrder()) {
            String name = Objects.requireNonNull(indices.getIdxToName().get(index));
            GraphVertex vertex = configuration.getVertices().get(name);
            if (vertex != null) {
                places.add(place(configuration, name, vertex, types));
            }
        }
        return new LayerGraph(configuration, places, truncation);
    }

    private static Place place(
            ComputationGraphConfiguration configuration,
            String name,
            GraphVertex vertex,
            Map<String, InputType> types) {
        Optional<Layer> layer =
                vertex instanceof LayerVertex of ? Optional.of(of.getLayerConf().getLayer()) : Optional.empty();
        List<String> inputs =
                Objects.requireNonNull(configuration.getVertexInputs().get(name), name);
        List<InputType> in = inputs.stream().map(types::get).toList();
        return new Place(
                name,
                layer,
                layer.<Object>map(of -> of).orElse(vertex).getClass().getSimpleName(),
                inputs,
                in,
                Place.outputOf(layer, in.get(0), Objects.requireNonNull(types.get(name), name)),
                configuration.getNetworkInputs().containsAll(inputs),
                configuration.getNetworkOutputs().contains(name));
    }

    @Override
    public List<Step> steps(StepWriter writer) {
        writer.enter(StepWriter.ALL);
        places.stream().filter(place -> !place.output()).forEach(writer::forward);
        List<Place> backward = new ArrayList<>(places);
        Collections.reverse(backward);
        backward(backward, writer);
        places.stream().filter(Place::output).forEach(writer::score);
        writer.close(StepWriter.ALL);
        return writer.steps();
    }

    /** A workspace is closed when all places that its gradients are for have been visited, and is free for the next. */
    private static void backward(List<Place> places, StepWriter writer) {
        Deque<String> free = new ArrayDeque<>();
        Map<String, Set<String>> open = new LinkedHashMap<>();
        Set<String> known = new HashSet<>();
        places.forEach(place -> known.add(place.name()));
        for (Place place : places) {
            String gradients = free.isEmpty() ? StepWriter.GRADIENTS + open.size() : free.pop();
            writer.enter(gradients);
            writer.backward(place, gradients);
            writer.close(StepWriter.WORKING);
            Set<String> wanted = new HashSet<>(place.inputs());
            wanted.retainAll(known);
            open.put(gradients, wanted);
            for (Map.Entry<String, Set<String>> waiting : List.copyOf(open.entrySet())) {
                waiting.getValue().remove(place.name());
                if (waiting.getValue().isEmpty()) {
                    open.remove(waiting.getKey());
                    writer.close(waiting.getKey());
                    free.push(waiting.getKey());
                }
            }
        }
    }

    @Override
    public List<InputType> outputs() {
        return places.stream()
                .filter(Place::output)
                .map(Place::out)
                .map(truncation::lengthen)
                .toList();
    }

    @Override
    public List<Layer> layers() {
        return places.stream().flatMap(place -> place.layer().stream()).toList();
    }

    @Override
    public NetworkBytes bytes() {
        List<NeuralNetConfiguration> layers = configuration.getVertices().values().stream()
                .filter(LayerVertex.class::isInstance)
                .map(vertex -> ((LayerVertex) vertex).getLayerConf())
                .toList();
        return ParameterSizes.of(layers, type().width());
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
        return 2 * gradientScopes();
    }

    @Override
    public int gradientScopes() {
        return places.size() + configuration.getNetworkInputs().size();
    }
}
