// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * What one item of a batch is made of.
 *
 * @param labels empty when they are as the network's outputs
 * @param featureMasks one for each input or none at all; an absent mask is an empty Optional
 * @param labelMasks the same for outputs
 */
record BatchShape(
        List<ItemShape> features,
        List<ItemShape> labels,
        List<Optional<ItemShape>> featureMasks,
        List<Optional<ItemShape>> labelMasks) {

    BatchShape {
        features = List.copyOf(features);
        labels = List.copyOf(labels);
        featureMasks = List.copyOf(featureMasks);
        labelMasks = List.copyOf(labelMasks);
    }

    static BatchShape ofFeatures(List<ItemShape> features) {
        return new BatchShape(features, List.of(), List.of(), List.of());
    }

    static BatchShape of(MultiDataSet example) {
        return new BatchShape(
                shapes(example.getFeatures()),
                shapes(example.getLabels()),
                masks(example.getFeaturesMaskArrays()),
                masks(example.getLabelsMaskArrays()));
    }

    BatchShape withLabels(List<ItemShape> newLabels) {
        return new BatchShape(features, newLabels, featureMasks, labelMasks);
    }

    /** Bytes of one item, labels and masks included. */
    long itemBytes() {
        Stream<ItemShape> masks =
                Stream.concat(featureMasks.stream(), labelMasks.stream()).flatMap(Optional::stream);
        return Stream.of(features.stream(), labels.stream(), masks)
                .flatMap(shapes -> shapes)
                .mapToLong(ItemShape::bytes)
                .sum();
    }

    /** Arrays of zeros. */
    MultiDataSet zeros(int batch) {
        return new org.nd4j.linalg.dataset.MultiDataSet(
                features(batch), arrays(labels, batch), maskArrays(featureMasks, batch), maskArrays(labelMasks, batch));
    }

    INDArray[] features(int batch) {
        return arrays(features, batch);
    }

    private static INDArray[] arrays(List<ItemShape> shapes, int batch) {
        return shapes.stream().map(shape -> shape.zeros(batch)).toArray(INDArray[]::new);
    }

    private static @Nullable INDArray @Nullable [] maskArrays(List<Optional<ItemShape>> masks, int batch) {
        if (masks.isEmpty()) {
            return null;
        }
        return masks.stream()
                .map(mask -> mask.map(shape -> shape.zeros(batch).addi(1)).orElse(null))
                .toArray(INDArray[]::new);
    }

    private static List<ItemShape> shapes(INDArray[] arrays) {
        return Arrays.stream(arrays).map(ItemShape::of).toList();
    }

    private static List<Optional<ItemShape>> masks(@Nullable INDArray @Nullable [] arrays) {
        return arrays == null
                ? List.of()
                : Arrays.stream(arrays)
                        .map(array -> Optional.ofNullable(array).map(ItemShape::of))
                        .toList();
    }
}
