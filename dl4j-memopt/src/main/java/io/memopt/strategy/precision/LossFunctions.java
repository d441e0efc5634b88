// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import java.lang.reflect.Field;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.nd4j.linalg.lossfunctions.ILossFunction;

/** Where the output layers of Deeplearning4j whose whole loss is a loss function keep it. Threading: stateless. */
final class LossFunctions {
    private LossFunctions() {}

    /** The field with the loss function of {@code layer}; empty when its loss is something else. */
    static Optional<Field> field(Layer layer) {
        Class<?> type = layer.getClass();
        if (type == OutputLayer.class || type == RnnOutputLayer.class) {
            return Optional.of(field(BaseOutputLayer.class));
        }
        boolean known = type == LossLayer.class
                || type == RnnLossLayer.class
                || type == CnnLossLayer.class
                || type == Cnn3DLossLayer.class;
        return known ? Optional.of(field(type)) : Optional.empty();
    }

    /** {@code layer} must have one. */
    static void scale(Layer layer, LossScale scale) {
        Field field = field(layer).orElseThrow();
        try {
            field.set(layer, new ScaledLoss((ILossFunction) field.get(layer), scale));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be set", e);
        }
    }

    private static Field field(Class<?> type) {
        try {
            Field field = type.getDeclaredField("lossFn");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(type + " has no field lossFn", e);
        }
    }
}
