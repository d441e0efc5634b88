// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.fit.MemoryForecast.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * Forecasts from a configuration alone: no network is made and no array is allocated. The configuration is only read. An
 * estimate: it knows the large arrays of the common layer types ({@link LayerRules}), not the small ones, and training only.
 *
 * <p>Threading: from any thread.
 */
public final class Derived {
    /** Share that Deeplearning4j adds to the workspace of all activations and of loops. */
    private static final double MARGIN_ALL = 0.05;
    /** Share that it adds to those of single layers. */
    private static final double MARGIN_LAYER = 0.02;

    private Derived() {}

    /**
     * For a stack of layers.
     *
     * @throws IllegalArgumentException if a dimension of {@code input} is not known
     */
    public static MemoryForecast forecast(MultiLayerConfiguration configuration, InputType input) {
        List<ItemShape> shapes = shapes(configuration.getDataType(), input);
        return forecast(LayerStack.of(configuration, input), shapes);
    }

    /**
     * For a graph; one input type for each of its inputs.
     *
     * @throws IllegalArgumentException as above
     */
    public static MemoryForecast forecast(ComputationGraphConfiguration configuration, InputType... inputs) {
        List<ItemShape> shapes = shapes(configuration.getDataType(), inputs);
        return forecast(LayerGraph.of(configuration, inputs), shapes);
    }

    private static List<ItemShape> shapes(DataType type, InputType... inputs) {
        return Arrays.stream(inputs).map(input -> ItemShape.of(input, type)).toList();
    }

    private static MemoryForecast forecast(Layout layout, List<ItemShape> features) {
        DataType type = layout.type();
        LayerRules rules = new LayerRules(layout.usesWorkspaces());
        List<Step> steps = layout.steps(new StepWriter(rules, type.width(), layout.usesWorkspaces()));
        Passes training = new Passes(steps, steps, workspaces(layout, steps));
        BatchShape shape = new BatchShape(
                features,
                layout.outputs().stream()
                        .map(output -> ItemShape.of(output, type))
                        .toList(),
                List.of(),
                List.of());
        return new MemoryForecast(
                Method.DERIVED,
                certainty(rules),
                training,
                Optional.empty(),
                Optional.empty(),
                layout.bytes(),
                shape,
                LayerFacts.of(layout.layers()));
    }

    private static String certainty(LayerRules rules) {
        String text = "derived from the configuration, an estimate: most networks are within 10 %";
        return rules.guessed().isEmpty()
                ? text
                : text + "; guessed what these need, for which there is no rule: " + String.join(", ", rules.guessed());
    }

    private static Map<String, WorkspaceRules> workspaces(Layout layout, List<Step> steps) {
        Map<String, WorkspaceRules> rules = new TreeMap<>();
        for (Step step : steps) {
            if (!step.workspace().isEmpty()) {
                rules.computeIfAbsent(step.workspace(), name -> switch (name) {
                    case StepWriter.ALL, StepWriter.LOOP -> WorkspaceRules.firstLoop(MARGIN_ALL);
                    case StepWriter.WORKING -> WorkspaceRules.overTime(layout.workingScopes(), MARGIN_LAYER);
                    default -> WorkspaceRules.overTime(layout.gradientScopes(), MARGIN_LAYER);
                });
            }
        }
        return rules;
    }
}
