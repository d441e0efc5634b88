// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The masks that the layers of a MultiLayerNetwork hold. The network itself forgets the masks that it was given once each layer has
 * made its own of them: of an example for each row, or, for layers that work on all steps of sequences as rows, with row {@code step *
 * examples + example}. Both can be split by examples. Threading: confined.
 */
final class LayerMasks {
    private static final List<String> NAMES = List.of("maskArray", "inputMaskArray");

    private static final ClassValue<List<Field>> FIELDS = new ClassValue<>() {
        @Override
        protected List<Field> computeValue(Class<?> type) {
            return fieldsOf(type);
        }
    };

    private final List<Slot> slots = new ArrayList<>();

    private LayerMasks() {}

    static LayerMasks of(Layer[] layers) {
        LayerMasks masks = new LayerMasks();
        Arrays.stream(layers).forEach(masks::add);
        return masks;
    }

    private void add(Layer layer) {
        for (Field field : FIELDS.get(layer.getClass())) {
            INDArray mask = (INDArray) read(layer, field);
            if (mask != null) {
                slots.add(new Slot(layer, field, mask));
            }
        }
        if (layer instanceof BaseWrapperLayer wrapper) {
            add(wrapper.getUnderlying());
        } else if (layer instanceof BidirectionalLayer) {
            for (String inner : new String[] {"fwd", "bwd"}) {
                add((Layer) Objects.requireNonNull(read(layer, declared(BidirectionalLayer.class, inner)), inner));
            }
        }
    }

    /** The rows of all masks. */
    List<Long> rows() {
        return slots.stream().map(slot -> slot.mask.size(0)).toList();
    }

    /** Gives each layer the part of its mask for examples {@code from} to {@code to}, exclusive, of {@code examples}. */
    void give(int from, int to, int examples) {
        slots.forEach(slot -> write(slot, part(slot.mask, from, to, examples)));
    }

    void restore() {
        slots.forEach(slot -> write(slot, slot.mask));
    }

    private static INDArray part(INDArray mask, int from, int to, int examples) {
        long[] shape = mask.shape();
        if (shape[0] == examples) {
            return rows(mask, from, to);
        }
        long steps = shape[0] / examples;
        long[] apart = new long[shape.length + 1];
        apart[0] = examples;
        apart[1] = steps;
        System.arraycopy(shape, 1, apart, 2, shape.length - 1);
        long[] together = shape.clone();
        together[0] = (to - from) * steps;
        return rows(mask.dup('f').reshape('f', apart), from, to).dup('f').reshape('f', together);
    }

    private static INDArray rows(INDArray array, int from, int to) {
        INDArrayIndex[] indices = NDArrayIndex.allFor(array);
        indices[0] = NDArrayIndex.interval(from, to);
        return array.get(indices);
    }

    private static @Nullable Object read(Layer layer, Field field) {
        try {
            return field.get(layer);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    private static void write(Slot slot, INDArray mask) {
        try {
            slot.field.set(slot.layer, mask);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(slot.field + " cannot be written", e);
        }
    }

    private static List<Field> fieldsOf(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (NAMES.contains(field.getName()) && field.getType() == INDArray.class && field.trySetAccessible()) {
                    fields.add(field);
                }
            }
        }
        return List.copyOf(fields);
    }

    private static Field declared(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(type + " has no field " + name, e);
        }
    }

    private record Slot(Layer layer, Field field, INDArray mask) {}
}
