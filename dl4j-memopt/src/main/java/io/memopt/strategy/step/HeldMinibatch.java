// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.LayerMasks;
import io.memopt.strategy.NetworkAccess;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Inputs, labels and masks that a network holds while it is being trained, all with one row for each example. Parts are views.
 * Threading: confined.
 */
public abstract class HeldMinibatch {
    /** Examples, features, steps. */
    private static final int SEQUENCE_RANK = 3;

    private final List<INDArray> arrays;

    private HeldMinibatch(List<INDArray> arrays) {
        this.arrays = List.copyOf(arrays);
    }

    /** What {@code model} holds now. */
    public static HeldMinibatch of(Model model) {
        return model instanceof MultiLayerNetwork network
                ? new OfLayers(network)
                : new OfGraph((ComputationGraph) model);
    }

    /** Examples; 0 when arrays have different numbers of rows, so that they cannot be split. */
    public int rows() {
        long rows = arrays.get(0).size(0);
        return arrays.stream().allMatch(array -> array.size(0) == rows) ? (int) rows : 0;
    }

    /** Why {@link #rows()} is 0. */
    public String whyWhole() {
        return "its inputs, labels and masks have "
                + arrays.stream().map(array -> String.valueOf(array.size(0))).collect(Collectors.joining(", "))
                + " rows, expected the same number in each";
    }

    /** Bytes of inputs and labels, and of those masks that the network itself holds. */
    public long bytes() {
        return arrays.stream()
                .mapToLong(array -> array.length() * array.dataType().width())
                .sum();
    }

    /** Whether some array has examples of steps, of which the next minibatch may have more or less. */
    public boolean hasSequences() {
        return arrays.stream().anyMatch(array -> array.rank() == SEQUENCE_RANK);
    }

    /** Shapes and types of the same arrays, e.g. {@code FLOAT[32, 3, 32, 32] FLOAT[32, 10]}. */
    public String shapes() {
        return arrays.stream()
                .map(array -> array.dataType() + Arrays.toString(array.shape()))
                .collect(Collectors.joining(" "));
    }

    /** The same of one example, e.g. {@code FLOAT[3, 32, 32] FLOAT[10]}. */
    public String itemShapes() {
        return arrays.stream()
                .map(array -> array.dataType() + Arrays.toString(Arrays.copyOfRange(array.shape(), 1, array.rank())))
                .collect(Collectors.joining(" "));
    }

    /** Hands examples {@code from} to {@code to}, exclusive, to the network. */
    public abstract void give(int from, int to);

    /** Hands the whole minibatch to the network again. */
    public abstract void restore();

    private static @Nullable INDArray part(@Nullable INDArray array, int from, int to) {
        if (array == null) {
            return null;
        }
        INDArrayIndex[] indices = NDArrayIndex.allFor(array);
        indices[0] = NDArrayIndex.interval(from, to);
        return array.get(indices);
    }

    private static @Nullable INDArray @Nullable [] parts(@Nullable INDArray @Nullable [] arrays, int from, int to) {
        if (arrays == null) {
            return null;
        }
        @Nullable INDArray[] parts = new INDArray[arrays.length];
        for (int i = 0; i < arrays.length; i++) {
            parts[i] = part(arrays[i], from, to);
        }
        return parts;
    }

    private static List<INDArray> present(@Nullable INDArray[] @Nullable ... groups) {
        List<INDArray> present = new ArrayList<>();
        for (@Nullable INDArray @Nullable [] group : groups) {
            if (group != null) {
                for (INDArray array : group) {
                    if (array != null) {
                        present.add(array);
                    }
                }
            }
        }
        return present;
    }

    private static final class OfLayers extends HeldMinibatch {
        private final MultiLayerNetwork network;
        private final INDArray input;
        private final INDArray labels;
        private final LayerMasks masks;

        private OfLayers(MultiLayerNetwork network) {
            super(present(new INDArray[] {network.getInput(), network.getLabels()}));
            this.network = network;
            this.input = network.getInput();
            this.labels = network.getLabels();
            this.masks = LayerMasks.of(network.getLayers());
        }

        @Override
        public int rows() {
            int rows = super.rows();
            return rows > 0 && masks.rows().stream().allMatch(its -> its % rows == 0) ? rows : 0;
        }

        @Override
        public String whyWhole() {
            return super.whyWhole() + "; its layers' masks have " + masks.rows() + ", expected multiples of that";
        }

        @Override
        public void give(int from, int to) {
            network.setInput(part(input, from, to));
            network.setLabels(part(labels, from, to));
            masks.give(from, to, (int) input.size(0));
        }

        @Override
        public void restore() {
            network.setInput(input);
            network.setLabels(labels);
            masks.restore();
        }
    }

    private static final class OfGraph extends HeldMinibatch {
        private final ComputationGraph graph;
        private final INDArray[] inputs;
        private final INDArray[] labels;
        private final @Nullable INDArray @Nullable [] inputMasks;
        private final @Nullable INDArray @Nullable [] labelMasks;

        private OfGraph(ComputationGraph graph) {
            super(present(graph.getInputs(), labelsOf(graph), graph.getInputMaskArrays(), graph.getLabelMaskArrays()));
            this.graph = graph;
            this.inputs = graph.getInputs().clone();
            this.labels = labelsOf(graph).clone();
            this.inputMasks = copy(graph.getInputMaskArrays());
            this.labelMasks = copy(graph.getLabelMaskArrays());
        }

        private static INDArray[] labelsOf(ComputationGraph graph) {
            return Objects.requireNonNull(NetworkAccess.labels(graph), "labels");
        }

        private static @Nullable INDArray @Nullable [] copy(@Nullable INDArray @Nullable [] arrays) {
            return arrays == null ? null : arrays.clone();
        }

        @Override
        public void give(int from, int to) {
            graph.setInputs(parts(inputs, from, to));
            graph.setLabels(parts(labels, from, to));
            graph.setLayerMaskArrays(parts(inputMasks, from, to), parts(labelMasks, from, to));
        }

        @Override
        public void restore() {
            graph.setInputs(inputs);
            graph.setLabels(labels);
            graph.setLayerMaskArrays(inputMasks, labelMasks);
        }
    }
}
