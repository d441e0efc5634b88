// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Inputs, labels and masks of a network as it is about to learn from them. */
final class Minibatch {
    private final @Nullable INDArray[] features;
    private final @Nullable INDArray[] labels;
    private final @Nullable INDArray @Nullable [] featureMasks;
    private final @Nullable INDArray @Nullable [] labelMasks;

    private Minibatch(
            @Nullable INDArray[] features,
            @Nullable INDArray[] labels,
            @Nullable INDArray @Nullable [] featureMasks,
            @Nullable INDArray @Nullable [] labelMasks) {
        this.features = features;
        this.labels = labels;
        this.featureMasks = featureMasks;
        this.labelMasks = labelMasks;
    }

    /** Copies of the first {@code examples} of {@code data}. */
    static Minibatch of(MultiDataSet data, int examples) {
        return new Minibatch(
                first(data.getFeatures(), examples),
                first(data.getLabels(), examples),
                data.getFeaturesMaskArrays() == null ? null : first(data.getFeaturesMaskArrays(), examples),
                data.getLabelsMaskArrays() == null ? null : first(data.getLabelsMaskArrays(), examples));
    }

    /** The arrays of {@code data} themselves. */
    static Minibatch whole(MultiDataSet data) {
        return new Minibatch(
                data.getFeatures(), data.getLabels(), data.getFeaturesMaskArrays(), data.getLabelsMaskArrays());
    }

    /** Hands everything to {@code model}, as its fit method does. */
    void give(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            network.setInput(features[0]);
            network.setLabels(labels[0]);
            network.setLayerMaskArrays(only(featureMasks), only(labelMasks));
        } else {
            ComputationGraph graph = (ComputationGraph) model;
            graph.setInputs(features);
            graph.setLabels(labels);
            graph.setLayerMaskArrays(featureMasks, labelMasks);
        }
    }

    /** Takes everything back, as its fit method does afterwards; the arrays are closed. */
    void takeFrom(Model model) {
        clear(model);
        close(features);
        close(labels);
        close(featureMasks);
        close(labelMasks);
    }

    /** Has {@code model} hold nothing. */
    static void clear(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            network.clearLayerMaskArrays();
            network.clearLayersStates();
            network.setInput(null);
            network.setLabels(null);
        } else {
            ComputationGraph graph = (ComputationGraph) model;
            graph.clearLayerMaskArrays();
            graph.clearLayersStates();
            graph.setInputs((INDArray[]) null);
            graph.setLabels((INDArray[]) null);
        }
    }

    private static @Nullable INDArray[] first(@Nullable INDArray[] arrays, int examples) {
        return Arrays.stream(arrays)
                .map(array -> array == null
                        ? null
                        : array.get(NDArrayIndex.interval(0, examples)).dup())
                .toArray(INDArray[]::new);
    }

    private static @Nullable INDArray only(@Nullable INDArray @Nullable [] arrays) {
        return arrays == null ? null : arrays[0];
    }

    private static void close(@Nullable INDArray @Nullable [] arrays) {
        if (arrays != null) {
            for (INDArray array : arrays) {
                if (array != null && array.closeable()) {
                    array.close();
                }
            }
        }
    }
}
