// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
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
public final class LayerMasks {
    private static final List<String> NAMES = List.of("maskArray", "inputMaskArray");

    private static final ClassValue<List<Field>> FIELDS = new ClassValue<>() {
        @Override
        protected List<Field> computeValue(Class<?> type) {
            return fieldsOf(type);
        }
    };

    private final List<Slot> slots = new ArrayList<>();
    /** What layers hold that is no view of their masks. */
    private final List<INDArray> copies = new ArrayList<>();

    private LayerMasks() {}

    /** The masks that {@code layers} hold now. */
    public static LayerMasks of(Layer[] layers) {
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
        inside(layer).forEach(this::add);
    }

    /** Gives the layers {@code to} what those of {@code from}, which are of the same kinds, hold; {@code how} makes it of a mask. */
    public static void copy(Layer[] from, Layer[] to, UnaryOperator<INDArray> how) {
        for (int i = 0; i < from.length; i++) {
            copy(from[i], to[i], how);
        }
    }

    private static void copy(Layer from, Layer to, UnaryOperator<INDArray> how) {
        for (Field field : FIELDS.get(from.getClass())) {
            INDArray mask = (INDArray) read(from, field);
            write(to, field, mask == null ? null : how.apply(mask));
        }
        List<Layer> inside = inside(from);
        for (int i = 0; i < inside.size(); i++) {
            copy(inside.get(i), inside(to).get(i), how);
        }
    }

    private static List<Layer> inside(Layer layer) {
        if (layer instanceof BaseWrapperLayer wrapper) {
            return List.of(wrapper.getUnderlying());
        }
        List<Layer> inner = new ArrayList<>();
        if (layer instanceof BidirectionalLayer) {
            for (String name : new String[] {"fwd", "bwd"}) {
                inner.add((Layer) Objects.requireNonNull(read(layer, declared(BidirectionalLayer.class, name)), name));
            }
        }
        return inner;
    }

    /** The rows of all masks. */
    public List<Long> rows() {
        return slots.stream().map(slot -> slot.mask.size(0)).toList();
    }

    /** Gives each layer the part of its mask for examples {@code from} to {@code to}, exclusive, of {@code examples}. */
    public void give(int from, int to, int examples) {
        List<INDArray> before = take();
        slots.forEach(slot -> write(slot.layer, slot.field, part(slot.mask, from, to, examples)));
        before.stream().filter(INDArray::closeable).forEach(INDArray::close);
    }

    /** Gives each layer its whole mask back. */
    public void restore() {
        List<INDArray> before = take();
        slots.forEach(slot -> write(slot.layer, slot.field, slot.mask));
        before.stream().filter(INDArray::closeable).forEach(INDArray::close);
    }

    /** Copies that were given, which no layer needs any more once it has been given others. */
    private List<INDArray> take() {
        List<INDArray> taken = List.copyOf(copies);
        copies.clear();
        return taken;
    }

    private INDArray part(INDArray mask, int from, int to, int examples) {
        if (mask.size(0) == examples) {
            return rows(mask, from, to);
        }
        INDArray copy = copy(mask, from, to, examples);
        copies.add(copy);
        return copy;
    }

    private static INDArray copy(INDArray mask, int from, int to, int examples) {
        long[] shape = mask.shape();
        long steps = shape[0] / examples;
        long[] apart = new long[shape.length + 1];
        apart[0] = examples;
        apart[1] = steps;
        System.arraycopy(shape, 1, apart, 2, shape.length - 1);
        long[] together = shape.clone();
        together[0] = (to - from) * steps;
        return rows(mask.reshape('f', apart), from, to).dup('f').reshape('f', together);
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

    private static void write(Layer layer, Field field, @Nullable INDArray mask) {
        try {
            field.set(layer, mask);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be written", e);
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
